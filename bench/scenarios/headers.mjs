import { wrkScenario } from './wrk-scenario.mjs';

/** What a browser and an app say to each other: 30 request fields (Host, wrk's own, is one) and 20 response fields. */
export const headers = wrkScenario({
  name: 'headers',
  title: '30 request and 20 response headers',
  request: { connections: 64, path: '/headers', headers: browserHeaders() },
});

function browserHeaders() {
  const usual = [
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
    'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'Cache-Control: no-cache',
    'Pragma: no-cache',
    'Referer: https://bench.example/orders?page=2',
    'Upgrade-Insecure-Requests: 1',
    'Sec-Fetch-Dest: document',
    'Sec-Fetch-Mode: navigate',
    'Sec-Fetch-Site: same-origin',
    'Sec-Fetch-User: ?1',
    `Cookie: session=${'s'.repeat(64)}; theme=dark; seen=${'1'.repeat(24)}; tracking=${'t'.repeat(120)}`,
    'X-Forwarded-Proto: https',
  ];
  const own = Array.from({ length: 29 - usual.length }, (_, index) => `X-Ask-${index}: value ${index}`);
  return [...usual, ...own];
}
