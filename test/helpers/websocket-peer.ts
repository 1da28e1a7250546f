import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { acceptFor } from '../../src/upstream/websocket-handshake.ts';
import { connectRaw, type RawSocket } from './raw-socket.ts';
import { type ScriptedApp, type ScriptedConnection, startScriptedApp } from './scripted-app.ts';
import { withTimeout } from './timeout.ts';

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** A client that has upgraded and from then on sends and gets bytes: each of them is the test's to choose. */
export async function connectFrames(t: TestContext, port: number, extensions = '', path = '/'): Promise<RawSocket> {
  const client = await connectRaw(port, t);
  client.send(
    `GET ${path} HTTP/1.1\r\nHost: app.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      (extensions === '' ? '' : `Sec-WebSocket-Extensions: ${extensions}\r\n`) +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  assert.equal((await client.readResponseHead()).status, 101);
  return client;
}

/** An app's connection after its 101. */
export class FramesConnection {
  readonly connection: ScriptedConnection;

  constructor(connection: ScriptedConnection) {
    this.connection = connection;
  }

  send(bytes: Buffer): void {
    this.connection.send(bytes);
  }

  /** The next frame of the proxy, unmasked; it must be masked and whole. */
  async readFrame(timeoutMs?: number): Promise<Frame> {
    const [first, second] = await this.connection.readExactly(2, timeoutMs);
    assert.equal(first! & 0xf0, 0x80, 'a whole message, no reserved bit');
    assert.equal(second! & 0x80, 0x80, 'frames to a server are masked');
    let length = second! & 0x7f;
    if (length === 126) length = (await this.connection.readExactly(2, timeoutMs)).readUInt16BE();
    else if (length === 127) length = Number((await this.connection.readExactly(8, timeoutMs)).readBigUInt64BE());
    const key = await this.connection.readExactly(4, timeoutMs);
    const masked = await this.connection.readExactly(length, timeoutMs);
    return { opcode: first! & 0x0f, payload: Buffer.from(masked.map((byte, index) => byte ^ key[index % 4]!)) };
  }
}

export interface FramesApp {
  readonly app: ScriptedApp;
  readonly port: number;
  /** The next connection, upgraded. */
  next(): Promise<FramesConnection>;
}

/** An app that upgrades every connection, and then does what the test says, byte by byte. */
export async function startFramesApp(t: TestContext): Promise<FramesApp> {
  const upgraded: FramesConnection[] = [];
  let wake: (() => void) | undefined;
  const app = await startScriptedApp(t, async (connection) => {
    const { headers } = await connection.readRequestHead();
    const accept = acceptFor(headers.get('sec-websocket-key')!);
    connection.send(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    upgraded.push(new FramesConnection(connection));
    wake?.();
    await connection.closed;
  });
  const next = async () => {
    while (upgraded.length === 0) {
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await withTimeout(news, 'a WebSocket at the app');
    }
    return upgraded.shift()!;
  };
  return { app, port: app.port, next };
}
