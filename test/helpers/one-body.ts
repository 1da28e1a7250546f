import type { Body } from './http-message.ts';
import type { ProxiedCase } from './proxied-app.ts';
import { respond } from './scripted-app.ts';

/**
 * The app reads one request, and answers it when its body is whole. The function that this gives waits for the body, or
 * for what became of it: `EndOfBytes` when it was cut.
 */
export async function readOneBody(run: ProxiedCase, answer = respond('ok')): Promise<() => Promise<Body | Error>> {
  let ending: Promise<Body | Error> | undefined;
  await run.script(async (connection) => {
    const request = await connection.readRequestHead();
    ending = connection.readRequestBody(request, 15_000).catch((error: Error) => error);
    if (!((await ending) instanceof Error)) connection.send(answer);
  });
  return async () => {
    await run.app.until((app) => app.requests === 1, 'the request');
    return ending!;
  };
}
