import { match, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { aptOfThisHost, buildImage, debianImage } from '../helpers/docker.ts';
import { request } from '../helpers/http.ts';
import { shellInImage, startImage } from '../helpers/image.ts';
import { inRepository } from '../helpers/repository.ts';

test('the folder /opt/uwsrp, copied into a plain Debian with Python, puts a Python app behind uWebSockets.js', async (t) => {
  const tag = await buildImage(
    t,
    `FROM ${await debianImage()}
     ${aptOfThisHost.line}
     RUN apt-get update && apt-get install -y --no-install-recommends python3
     COPY --from=uwsrp/node /opt/uwsrp /opt/uwsrp
     WORKDIR /srv
     COPY app.py ./
     USER nobody
     ENTRYPOINT ["/opt/uwsrp/bin/tini", "-s", "--", "/opt/uwsrp/bin/uwsrp"]
     CMD ["python3", "app.py"]`,
    { ...aptOfThisHost.files, 'app.py': readFileSync(inRepository('test', 'fixtures', 'apps', 'python_http.py')) },
  );
  strictEqual(await shellInImage(t, 'command -v node || echo none', { image: tag }), 'none\n', 'no Node on PATH');

  const container = await startImage(t, { image: tag });
  strictEqual((await request(container.address, { path: '/a%20b?c' })).text, 'hello from Python: /a%20b?c');
  const posted = await request(container.address, { method: 'POST', path: '/', body: 'x'.repeat(100_000) });
  strictEqual(JSON.parse(posted.text).bytes, 100_000);
  match(
    JSON.parse((await request(container.address, { path: '/headers' })).text).headers.toString(),
    /X-Forwarded-Proto,http/i,
  );
  strictEqual(await container.stop(), 0);
});
