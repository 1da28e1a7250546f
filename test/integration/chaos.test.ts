import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EndOfBytes } from '../helpers/byte-reader.ts';
import { lastingPort } from '../helpers/lasting-port.ts';
import { bytesFor, MOODS, type Mood, MoodyApp } from '../helpers/moody-app.ts';
import { assertErrorAnswer, GET } from '../helpers/proxied-app.ts';
import { Random } from '../helpers/random.ts';
import { connectRaw, type RawResponse, type RawSocket } from '../helpers/raw-socket.ts';
import { eachRequest, respond, type ScriptedApp, startScriptedApp } from '../helpers/scripted-app.ts';
import { until } from '../helpers/until.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const SECONDS = Number(process.env.CHAOS_SECONDS ?? 30);
const SEED = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 24;

/** What a client asks for, and how it behaves. */
interface Plan {
  readonly id: string;
  readonly mood: Mood;
  readonly group: keyof typeof MOODS;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  readonly size: number;
  readonly uploadSize: number;
  readonly isChunked: boolean;
  /** It reads nothing for this long. */
  readonly pauseMs: number;
  /** It goes away, in this way. */
  readonly leave: { readonly afterMs: number; readonly how: 'destroy' | 'reset' | 'end' } | undefined;
}

/** Everything that the clients and the app of one run share. */
class Chaos {
  readonly moody = new MoodyApp(new Random(SEED - 1));
  readonly counts: Record<string, number> = {};
  readonly complaints: string[] = [];
  uwsrpPort = 0;
  isOver = false;
  /** Changes whenever the app goes away and when it is back: a request that sees one number only saw a steady app. */
  #epoch = 0;
  #appPort = 0;
  #app: ScriptedApp | undefined;
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
  }

  async startApp(): Promise<number> {
    this.#appPort = await lastingPort();
    this.#app = await startScriptedApp(this.#t, this.moody.script, { port: this.#appPort });
    return this.#appPort;
  }

  /** The app is killed and comes back, again and again. */
  async restartApp(random: Random): Promise<void> {
    while (!this.isOver) {
      await delay(random.between(200, 1500));
      this.#epoch += 1;
      await this.#app!.stop();
      await delay(random.between(0, 150));
      await this.startAppAgain();
      this.#epoch += 1;
    }
  }

  async startAppAgain(): Promise<void> {
    this.#app = await startScriptedApp(this.#t, this.moody.script, { port: this.#appPort });
  }

  async replaceAppByCalmOne(): Promise<ScriptedApp> {
    await this.#app!.stop();
    return startScriptedApp(
      this.#t,
      eachRequest(() => respond('calm')),
      { port: this.#appPort },
    );
  }

  async runClient(index: number): Promise<void> {
    const random = new Random(SEED + index);
    let client: RawSocket | undefined;
    for (let count = 0; !this.isOver; count += 1) {
      client ??= await connectRaw(this.uwsrpPort);
      const isKept = await this.#ask(client, makePlan(`${index}-${count}.`, random));
      if (isKept) continue;
      client.destroy();
      client = undefined;
    }
    client?.destroy();
  }

  /** One request. True when its connection can be used again. */
  async #ask(client: RawSocket, plan: Plan): Promise<boolean> {
    const epoch = this.#epoch;
    const before = client.receivedLength;
    const sending = send(client, plan);
    if (plan.pauseMs > 0) {
      client.pause();
      setTimeout(() => client.resume(), plan.pauseMs);
    }
    if (plan.leave !== undefined) {
      await delay(plan.leave.afterMs);
      client.resume();
      client[plan.leave.how]();
      await client.closed;
      await sending;
      this.#count('left');
      return false;
    }
    const hadRestart = () => epoch !== this.#epoch || epoch % 2 === 1;
    try {
      const response = await client.readResponse({ method: plan.method, timeoutMs: 20_000 });
      this.#check(plan, response, hadRestart());
      if (plan.uploadSize > 0 && response.status >= 300) return false;
      await sending;
      return response.headers.get('connection') !== 'close';
    } catch (error) {
      if (!(error instanceof EndOfBytes)) this.#complain(plan, String(error));
      else if (client.receivedLength === before) this.#complain(plan, 'the connection ended without an answer');
      else if (plan.group !== 'broken' && !hadRestart()) this.#complain(plan, String(error));
      else this.#count('cut');
      return false;
    }
  }

  #check(plan: Plan, response: RawResponse, hadRestart: boolean): void {
    const { status, body } = response;
    const isHead = plan.method === 'HEAD';
    if (status === 200) {
      assert.equal(response.headers.get('x-id'), plan.id, 'the answer to another request');
      // To HEAD the body that is wrong, or breaks off, is not sent.
      if (!isHead) assert.notEqual(plan.group, 'wrong');
      if (!isHead) assert.notEqual(plan.group, 'broken', 'a broken answer looks whole');
      assert.notEqual(plan.group, 'early');
      // Where its end is the end of the connection nobody can tell an answer that was cut from a whole one.
      if (plan.mood !== 'until-close' || !hadRestart) {
        assert.ok(
          body.equals(isHead ? Buffer.alloc(0) : bytesFor(plan.id, plan.size)),
          `a body of ${body.length} bytes`,
        );
      }
      this.#count('right');
      return;
    }
    if (status === 413 && plan.group === 'early') {
      assert.equal(body.toString(), isHead ? '' : `early ${plan.id}`);
      this.#count('early');
      return;
    }
    assert.ok(status === 502 || (status === 504 && plan.group === 'silent'), `status ${status}`);
    if (!isHead) assertErrorAnswer(response, status);
    // What may be sent again is, when the app had closed the connection; all else may fail for that.
    const mayFail = hadRestart || plan.group !== 'right' || plan.method === 'POST' || plan.uploadSize > 0;
    assert.ok(mayFail, `status ${status}, though the app gave a right answer`);
    this.#count(`${status}`);
  }

  #complain(plan: Plan, what: string): void {
    this.complaints.push(`${what} (${JSON.stringify(plan)})`);
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

function makePlan(id: string, random: Random): Plan {
  const group = pickGroup(random);
  const mood = random.pick<Mood>(MOODS[group]);
  const uploads = random.chance(group === 'early' ? 0.9 : 0.3);
  const size = random.pick([0, 1, 100, 5000, 16_384, 70_000, random.between(0, 300_000)]);
  return {
    id,
    mood,
    group,
    method: uploads ? random.pick(['POST', 'PUT']) : random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST']),
    // Bytes behind an answer must come in one read with it, or they would be the next request's trouble.
    size: mood === 'extra' ? Math.min(size, 5000) : size,
    uploadSize: uploads ? random.pick([1, 1000, 65_536, random.between(1, 200_000)]) : 0,
    isChunked: random.chance(0.5),
    pauseMs: random.chance(0.1) ? random.between(1, 100) : 0,
    leave: random.chance(0.1)
      ? { afterMs: random.between(0, 40), how: random.pick(['destroy', 'reset', 'end'] as const) }
      : undefined,
  };
}

function pickGroup(random: Random): keyof typeof MOODS {
  const at = random.next();
  if (at < 0.7) return 'right';
  if (at < 0.8) return 'wrong';
  if (at < 0.9) return 'broken';
  return at < 0.998 ? 'early' : 'silent';
}

/** The id of a request in a line of the log, as it stands in the plan of a complaint. */
const idOf = (path: unknown) => JSON.stringify(String(path).split('/')[1]);

/** Sends the request; a body goes in pieces, as long as somebody takes it. */
async function send(client: RawSocket, plan: Plan): Promise<void> {
  const { id, mood, method, size, uploadSize, isChunked } = plan;
  const framing = isChunked && uploadSize > 0 ? 'Transfer-Encoding: chunked' : `Content-Length: ${uploadSize}`;
  const fields = method === 'POST' || method === 'PUT' ? `${framing}\r\n` : '';
  client.send(`${method} /${id}/${mood}/${size}/${uploadSize} HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n`);
  const body = bytesFor(`${id}u`, uploadSize);
  try {
    for (let at = 0; at < body.length; at += 50_000) {
      const piece = body.subarray(at, at + 50_000);
      if (isChunked) client.send(`${piece.length.toString(16)}\r\n`);
      await client.sendAndFlush(piece);
      if (isChunked) client.send('\r\n');
    }
    if (isChunked && uploadSize > 0) await client.sendAndFlush('0\r\n\r\n');
  } catch {
    // Closed by one side or the other; what the client was answered counts.
  }
}

test(`chaos for ${SECONDS} s: every answer is exactly right or exactly an error, and nothing is left`, async (t) => {
  t.diagnostic(`CHAOS_SEED=${SEED} CHAOS_SECONDS=${SECONDS}`);
  const chaos = new Chaos(t);
  const appPort = await chaos.startApp();
  const uwsrp = await startUwsrp(t, { appPort, env: { UWSRP_RESPONSE_TIMEOUT: '3s' } });
  chaos.uwsrpPort = uwsrp.port;
  const idleFiles = uwsrp.openFiles();

  const clients = Array.from({ length: CLIENTS }, (_, index) => chaos.runClient(index));
  const restarts = chaos.restartApp(new Random(SEED - 2));
  await Promise.race([delay(SECONDS * 1000), ...clients]);
  chaos.isOver = true;
  await Promise.all([...clients, restarts]);
  t.diagnostic(JSON.stringify(chaos.counts));

  const reasons = uwsrp.logs().filter(({ path }) => chaos.complaints.some((each) => each.includes(idOf(path))));
  assert.deepEqual(
    [...chaos.complaints, ...chaos.moody.complaints],
    [],
    `CHAOS_SEED=${SEED} ${JSON.stringify(reasons)}`,
  );
  for (const outcome of ['right', '502', 'cut', 'left', 'early']) {
    assert.ok((chaos.counts[outcome] ?? 0) > 0, `nothing was "${outcome}": ${JSON.stringify(chaos.counts)}`);
  }

  const calm = await chaos.replaceAppByCalmOne();
  const client = await connectRaw(uwsrp.port, t);
  for (let count = 0; count < 20; count += 1) {
    client.send(GET);
    assert.equal((await client.readResponse()).body.toString(), 'calm');
  }
  client.destroy();
  await calm.restart(() => {});
  await until(() => uwsrp.openFiles() <= idleFiles, 'every connection to be closed', 15_000);
  assert.deepEqual(
    uwsrp.logs().filter(({ level }) => level === 'fatal' || level === 'error'),
    [],
  );
  assert.doesNotMatch(uwsrp.output(), /unhandled|uncaught/i);
  assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
});
