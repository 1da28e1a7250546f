import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Client, createClient } from 'graphql-ws';
import { type CloseEvent, WebSocket } from 'ws';
import { withTimeout } from '../helpers/timeout.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

function openClient(t: TestContext, port: number, password: string): Client {
  const client = createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { password },
    retryAttempts: 0,
  });
  t.after(() => client.dispose());
  return client;
}

async function all(client: Client, query: string): Promise<unknown[]> {
  const results: unknown[] = [];
  const read = async () => {
    for await (const { data, errors } of client.iterate({ query })) results.push(errors?.[0]?.message ?? data);
  };
  await withTimeout(read(), () => `the end of ${query}; came: ${JSON.stringify(results).slice(-500)}`);
  return results;
}

test('GraphQL subscriptions by graphql-ws run unmodified', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/graphql-ws.js'] });
  const client = openClient(t, uwsrp.port, 'open');

  await t.test('a query, and subscriptions to their end, several at a time', async () => {
    const counted = Array.from({ length: 500 }, (_, index) => ({ count: index + 1 }));
    const answers = await Promise.all([
      all(client, '{ greeting(name: "grüße 👋") }'),
      all(client, 'subscription { count(to: 500) }'),
      all(client, 'subscription { count(to: 3) }'),
    ]);
    assert.deepEqual(JSON.parse(JSON.stringify(answers)), [
      [{ greeting: 'hello grüße 👋' }],
      counted,
      counted.slice(0, 3),
    ]);
  });

  await t.test('a subscription that the app breaks off is told so', async () => {
    await assert.rejects(all(client, 'subscription { broken }'), (errors: unknown) => {
      assert.deepEqual(errors, [{ message: 'broken by design' }]);
      return true;
    });
  });

  await t.test('a subscription that the client ends is ended in the app', async () => {
    const results = client.iterate<{ forever: number }>({ query: 'subscription { forever }' });
    for (let wanted = 0; wanted < 100; wanted += 1) {
      assert.equal((await results.next()).value!.data!.forever, wanted);
    }
    await results.return!();
    await uwsrp.waitForOutput('graphql forever ended');
  });

  await t.test('a wrong password is refused with 4403', async (t) => {
    const refused = (error: unknown) => {
      assert.deepEqual([(error as CloseEvent).code, (error as CloseEvent).reason], [4403, 'Forbidden']);
      return true;
    };
    await assert.rejects(all(openClient(t, uwsrp.port, 'wrong'), '{ greeting(name: "x") }'), refused);
  });
});
