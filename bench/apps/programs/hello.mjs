// The smallest web app there is in Node: what the boot time is measured with.
import { createServer } from 'node:http';

createServer((_request, response) => response.end('hello, world\n')).listen(Number(process.env.PORT), '127.0.0.1');
