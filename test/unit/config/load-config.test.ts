import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../../src/config/config-error.ts';
import { type LoadedConfig, loadConfig } from '../../../src/config/load-config.ts';
import { exitCodeOf } from '../../../src/lib/errors.ts';

type Environment = Record<string, string | undefined>;

function load(env: Environment, files: Record<string, string> = {}): LoadedConfig {
  return loadConfig({
    env,
    workDirectory: '/app',
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
  });
}

function problemsOf(env: Environment, files?: Record<string, string>): readonly string[] {
  try {
    load(env, files);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.equal(exitCodeOf(error), 78);
    assert.equal(error.message, error.problems.join('\n'));
    for (const problem of error.problems) assert.match(problem, /^(?:PORT|UWSRP_\w+): [^\n]+ \(allowed: [^\n]+\)$/);
    return error.problems;
  }
  return assert.fail('nothing was refused');
}

test('an empty environment gives every default', () => {
  const { config, sources } = load({});
  assert.deepEqual(config, {
    platform: undefined,
    mode: 'standalone',
    isOneOff: false,
    port: 8080,
    host: undefined,
    command: undefined,
    process: 'web',
    appPort: undefined,
    appPortVariable: 'PORT',
    appSocket: undefined,
    readyPath: undefined,
    readyStatus: [{ from: 200, to: 399 }],
    readyFile: undefined,
    readyTimeoutMs: 300_000,
    drainDelayMs: 0,
    drainTimeoutMs: 3600,
    shutdownTimeoutMs: 9000,
    forceSsl: 'off',
    forceSslExempt: [],
    canonicalHost: undefined,
    hsts: undefined,
    trustProxy: { kind: 'auto' },
    forwardedFor: 'append',
    clientIpHeader: undefined,
    keepAlive: 'auto',
    keepAliveTimeoutMs: 95_000,
    keepAliveMax: 1024,
    maxHeaderBytes: 65_536,
    maxBodyBytes: 0,
    uploadIdleTimeoutMs: 60_000,
    appConnections: 1024,
    appQueueTimeoutMs: 30_000,
    workers: 1,
    appPipelining: 1,
    connectTimeoutMs: 5000,
    responseTimeoutMs: 0,
    requestId: true,
    healthPath: undefined,
    wsModule: undefined,
    pubsubUrl: undefined,
    wsMaxMessageBytes: 16_777_216,
    wsIdleTimeoutMs: 60_000,
    wsCompression: 'off',
    accessLog: 'errors',
    errorPages: undefined,
    logLevel: 'info',
    logFormat: 'json',
    logFile: undefined,
    workDirectory: '/app',
    dotenvFile: undefined,
    childEnvironment: {},
  });
  assert.deepEqual(new Set(Object.values(sources)), new Set(['default']));
});

test('every variable reaches its field', () => {
  const { config } = load({
    PORT: '0',
    UWSRP_HOST: '127.0.0.1',
    UWSRP_MODE: 'OFF',
    UWSRP_COMMAND: 'uwsrp node server.js',
    UWSRP_PROCESS: 'api',
    UWSRP_APP_PORT: '3000',
    UWSRP_APP_PORT_VARIABLE: 'APP_PORT',
    UWSRP_READY_PATH: '/ready',
    UWSRP_READY_STATUS: '200,404',
    UWSRP_READY_FILE: 'tmp/ready',
    UWSRP_READY_TIMEOUT: '0',
    UWSRP_DRAIN_DELAY: '2s',
    UWSRP_DRAIN_TIMEOUT: '3s',
    UWSRP_SHUTDOWN_TIMEOUT: '6s',
    UWSRP_FORCE_SSL: 'True',
    UWSRP_FORCE_SSL_EXEMPT: '/a, /b',
    UWSRP_CANONICAL_HOST: 'WWW.example.com',
    UWSRP_HSTS: 'max-age=60',
    UWSRP_TRUST_PROXY: '10.0.0.0/8',
    UWSRP_FORWARDED_FOR: 'keep',
    UWSRP_CLIENT_IP_HEADER: 'Fly-Client-IP',
    UWSRP_KEEP_ALIVE: 'off',
    UWSRP_KEEP_ALIVE_TIMEOUT: '2m',
    UWSRP_KEEP_ALIVE_MAX: '7',
    UWSRP_MAX_HEADER_SIZE: '32kb',
    UWSRP_MAX_BODY_SIZE: '10mb',
    UWSRP_UPLOAD_IDLE_TIMEOUT: '20s',
    UWSRP_APP_CONNECTIONS: '64',
    UWSRP_APP_QUEUE_TIMEOUT: '2s',
    UWSRP_WORKERS: '4',
    UWSRP_APP_PIPELINING: '8',
    UWSRP_CONNECT_TIMEOUT: '500ms',
    UWSRP_RESPONSE_TIMEOUT: '25s',
    UWSRP_REQUEST_ID: 'off',
    UWSRP_HEALTH_PATH: '/up',
    UWSRP_WS_MODULE: 'ws.js',
    UWSRP_PUBSUB_URL: 'redis://:secret@redis:6379/2',
    UWSRP_WS_MAX_MESSAGE: '1mb',
    UWSRP_WS_IDLE_TIMEOUT: '30s',
    UWSRP_WS_COMPRESSION: 'dedicated',
    UWSRP_ACCESS_LOG: 'all',
    UWSRP_ERROR_PAGES: 'pages',
    UWSRP_LOG_LEVEL: 'debug',
    UWSRP_LOG_FORMAT: 'pretty',
    UWSRP_LOG_FILE: '/var/log/uwsrp.log',
    UWSRP_DOTENV: 'off',
  });
  assert.deepEqual(
    { ...config, childEnvironment: {} },
    {
      platform: undefined,
      mode: 'off',
      isOneOff: true,
      port: 0,
      host: '127.0.0.1',
      command: 'node server.js',
      process: 'api',
      appPort: 3000,
      appPortVariable: 'APP_PORT',
      appSocket: undefined,
      readyPath: '/ready',
      readyStatus: [
        { from: 200, to: 200 },
        { from: 404, to: 404 },
      ],
      readyFile: '/app/tmp/ready',
      readyTimeoutMs: 0,
      drainDelayMs: 2000,
      drainTimeoutMs: 3000,
      shutdownTimeoutMs: 6000,
      forceSsl: 'on',
      forceSslExempt: ['/a', '/b'],
      canonicalHost: 'www.example.com',
      hsts: 'max-age=60',
      trustProxy: { kind: 'list', addresses: ['10.0.0.0/8'] },
      forwardedFor: 'keep',
      clientIpHeader: 'fly-client-ip',
      keepAlive: 'off',
      keepAliveTimeoutMs: 120_000,
      keepAliveMax: 7,
      maxHeaderBytes: 32_768,
      maxBodyBytes: 10_485_760,
      uploadIdleTimeoutMs: 20_000,
      appConnections: 64,
      appQueueTimeoutMs: 2000,
      workers: 4,
      appPipelining: 8,
      connectTimeoutMs: 500,
      responseTimeoutMs: 25_000,
      requestId: false,
      healthPath: '/up',
      wsModule: '/app/ws.js',
      pubsubUrl: 'redis://:secret@redis:6379/2',
      wsMaxMessageBytes: 1_048_576,
      wsIdleTimeoutMs: 30_000,
      wsCompression: 'dedicated',
      accessLog: 'all',
      errorPages: '/app/pages',
      logLevel: 'debug',
      logFormat: 'pretty',
      logFile: '/var/log/uwsrp.log',
      workDirectory: '/app',
      dotenvFile: undefined,
      childEnvironment: {},
    },
  );
  assert.equal(load({ UWSRP_APP_SOCKET: 'tmp/app.sock' }).config.appSocket, '/app/tmp/app.sock');
});

test('the configuration is frozen with all that is in it', () => {
  const { config } = load({ UWSRP_TRUST_PROXY: '10.0.0.1' });
  for (const part of [config, config.readyStatus, config.readyStatus[0], config.trustProxy, config.childEnvironment]) {
    assert.ok(Object.isFrozen(part));
  }
});

test('empty means unset, and blanks around a value do not count', () => {
  const { config, sources } = load({ PORT: ' 3000\n', UWSRP_HOST: '', UWSRP_READY_TIMEOUT: '  ', UWSRP_NONSENSE: '' });
  assert.equal(config.port, 3000);
  assert.equal(config.host, undefined);
  assert.equal(config.readyTimeoutMs, 300_000);
  assert.equal(sources.host, 'default');
});

test('a command that says nothing but uwsrp is no command', () => {
  assert.equal(load({ UWSRP_COMMAND: 'uwsrp' }).config.command, undefined);
});

test('each platform has its own defaults', () => {
  const expected: [Environment, string, number, number, number, number][] = [
    [{ DYNO: 'web.1' }, 'heroku', 55_000, 0, 10_000, 25_000],
    [{ RENDER: 'true' }, 'render', 300_000, 0, 10_000, 25_000],
    [{ FLY_APP_NAME: 'a' }, 'fly', 300_000, 0, 1600, 4000],
    [{ RAILWAY_ENVIRONMENT: 'p' }, 'railway', 300_000, 0, 3600, 9000],
    [{ K_SERVICE: 'a' }, 'cloud-run', 230_000, 0, 3200, 8000],
    [{ SCALINGO_APPLICATION_ID: 'a' }, 'scalingo', 55_000, 0, 10_000, 25_000],
    [{ DYNO: 'web.1', DOKKU_APP_TYPE: 'dockerfile' }, 'dokku', 300_000, 0, 10_000, 25_000],
    [{ APP_PLATFORM_COMPONENT_TYPE: 'service' }, 'app-platform', 300_000, 0, 3600, 9000],
    [{ KUBERNETES_SERVICE_HOST: '10.0.0.1' }, 'kubernetes', 300_000, 5000, 10_000, 25_000],
  ];
  for (const [env, platform, ready, delay, drain, shutdown] of expected) {
    const { config } = load(env);
    assert.deepEqual(
      [config.platform, config.readyTimeoutMs, config.drainDelayMs, config.drainTimeoutMs, config.shutdownTimeoutMs],
      [platform, ready, delay, drain, shutdown],
    );
    assert.equal(config.forwardedFor, 'keep', platform);
    assert.equal(config.isOneOff, false, platform);
  }
});

test('sources tell where each value comes from', () => {
  const { sources } = load({ DYNO: 'web.1', PORT: '5000' }, { '/app/.env': 'UWSRP_LOG_LEVEL=debug' });
  assert.equal(sources.port, 'environment');
  assert.equal(sources.logLevel, 'file');
  assert.equal(sources.readyTimeoutMs, 'platform');
  assert.equal(sources.forwardedFor, 'platform');
  assert.equal(sources.host, 'default');
  assert.equal(load({ DYNO: 'web.1', UWSRP_FORWARDED_FOR: 'append' }).config.forwardedFor, 'append');
});

test('a process that is not to serve is a one-off', () => {
  assert.equal(load({ UWSRP_MODE: 'off' }).config.isOneOff, true);
  assert.equal(load({ DYNO: 'run.4163' }).config.isOneOff, true);
  assert.equal(load({ DYNO: 'worker-7c5f9d-x2k9p' }).config.isOneOff, true);
  assert.equal(load({ DYNO: 'web-7c5f9d-x2k9p' }).config.isOneOff, false);
});

test('.env counts for us and for the command, and the real environment wins', () => {
  const { config } = load(
    { UWSRP_LOG_LEVEL: 'warn', A: 'real', UWSRP_HOST: '' },
    { '/app/.env': 'PORT=3000\nUWSRP_LOG_LEVEL=debug\nUWSRP_HOST=127.0.0.1\nA=file\nB=file\n' },
  );
  assert.equal(config.dotenvFile, '/app/.env');
  assert.equal(config.port, 3000);
  assert.equal(config.logLevel, 'warn');
  assert.equal(config.host, '127.0.0.1');
  assert.equal(config.childEnvironment.A, 'real');
  assert.equal(config.childEnvironment.B, 'file');
});

test('UWSRP_DOTENV names another file or none', () => {
  const files = { '/app/.env': 'PORT=1000', '/app/prod.env': 'PORT=2000' };
  assert.equal(load({ UWSRP_DOTENV: 'prod.env' }, files).config.port, 2000);
  assert.equal(load({ UWSRP_DOTENV: 'prod.env' }, files).config.dotenvFile, '/app/prod.env');
  assert.equal(load({ UWSRP_DOTENV: 'off' }, files).config.port, 8080);
  assert.match(
    problemsOf({ UWSRP_DOTENV: 'nope.env', PORT: 'x' }, files).join('\n'),
    /PORT: .*\nUWSRP_DOTENV: .*nope\.env/,
  );
});

test('UWSRP_DOTENV counts only in the real environment, and a platform is not recognised by a file', () => {
  const files = { '/app/.env': 'UWSRP_DOTENV=other\nDYNO=run.1' };
  assert.match(problemsOf({}, files)[0]!, /^UWSRP_DOTENV: set in \/app\/\.env/);
  const { config } = load({}, { '/app/.env': 'DYNO=run.1' });
  assert.equal(config.platform, undefined);
  assert.equal(config.isOneOff, false);
});

test('all problems are reported at once, one line each', () => {
  const problems = problemsOf(
    {
      PORT: '12abc',
      UWSRP_MODE: 'integrated',
      UWSRP_READY_TIMEOUT: '30',
      UWSRP_READY_TIMOUT: '30s',
      UWSRP_HSTS: 'on',
      UWSRP_DRAIN_TIMEOUT: '30s',
    },
    { '/app/.env': 'UWSRP_HEALTH_PATH=up\nUWSRP_WORKERZ=2' },
  );
  assert.deepEqual(
    problems.map((problem) => problem.split(':', 1)[0]),
    [
      'PORT',
      'UWSRP_MODE',
      'UWSRP_READY_TIMEOUT',
      'UWSRP_HSTS',
      'UWSRP_HEALTH_PATH',
      'UWSRP_READY_TIMOUT',
      'UWSRP_WORKERZ',
      'UWSRP_DRAIN_TIMEOUT',
    ],
  );
  assert.match(problems[1]!, /"integrated" is not in this version/);
  assert.match(problems[2]!, /has no unit: ms, s, m or h/);
  assert.match(problems[5]!, /did you mean UWSRP_READY_TIMEOUT\?/);
});

test('what Kubernetes injects for Services called uwsrp is neither a setting nor a mistake', () => {
  const { config } = load({
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
    UWSRP_SERVICE_HOST: '10.0.0.11',
    UWSRP_SERVICE_PORT: '80',
    UWSRP_SERVICE_PORT_HTTP: '80',
    UWSRP_PORT: 'tcp://10.0.0.11:80',
    UWSRP_PORT_80_TCP: 'tcp://10.0.0.11:80',
    UWSRP_PORT_80_TCP_ADDR: '10.0.0.11',
    UWSRP_APP_PORT: 'tcp://10.0.0.12:80',
  });
  assert.equal(config.port, 8080);
  assert.equal(config.appPort, undefined);
  assert.equal(config.childEnvironment.UWSRP_SERVICE_HOST, '10.0.0.11');
});

test('the names that uwsrp sets itself are no mistake and stay with us', () => {
  const { config } = load({ UWSRP_APP_NODE_OPTIONS: '--max-old-space-size=200' });
  assert.deepEqual(config.childEnvironment, { NODE_OPTIONS: '--max-old-space-size=200' });
});

test('settings that do not go together are refused', () => {
  const refused: [Environment, RegExp][] = [
    [{ UWSRP_APP_PORT: '3000', UWSRP_APP_SOCKET: '/tmp/a' }, /^UWSRP_APP_PORT: set together with UWSRP_APP_SOCKET/],
    [{ UWSRP_APP_PORT: '8080' }, /^UWSRP_APP_PORT: 8080 is the public port/],
    [{ UWSRP_WORKERS: '4', UWSRP_APP_CONNECTIONS: '3' }, /^UWSRP_APP_CONNECTIONS: 3 cannot be divided among 4 workers/],
    [{ UWSRP_APP_PORT: '3000', PORT: '3000' }, /^UWSRP_APP_PORT: 3000 is the public port/],
    [{ UWSRP_APP_SOCKET: `/${'a'.repeat(107)}` }, /^UWSRP_APP_SOCKET: .*too long/],
    [{ UWSRP_FORCE_SSL: 'on', UWSRP_TRUST_PROXY: 'none' }, /^UWSRP_FORCE_SSL: "on" can never redirect/],
    [{ UWSRP_PUBSUB_URL: 'redis://:hush@a' }, /^UWSRP_PUBSUB_URL: set without UWSRP_WS_MODULE, [^@]*$/],
    [{ UWSRP_DRAIN_DELAY: '9s' }, /^UWSRP_DRAIN_DELAY: 9s leaves nothing of the shutdown timeout of 9s/],
    [
      { UWSRP_DRAIN_DELAY: '3s', UWSRP_DRAIN_TIMEOUT: '3s', UWSRP_SHUTDOWN_TIMEOUT: '6s' },
      /^UWSRP_DRAIN_TIMEOUT: 3s after a drain delay of 3s leaves nothing of the shutdown timeout of 6s/,
    ],
  ];
  for (const [env, line] of refused) {
    const problems = problemsOf(env);
    assert.match(problems[0]!, line);
    assert.equal(problems.length, 1);
  }
});

test('a conflict with a setting that is invalid by itself is not reported', () => {
  assert.deepEqual(
    problemsOf({ UWSRP_APP_PORT: '8080', PORT: 'x' }).map((problem) => problem.split(':', 1)[0]),
    ['PORT'],
  );
});

test('settings that do go together are taken', () => {
  for (const env of [
    { UWSRP_FORCE_SSL: 'strict', UWSRP_TRUST_PROXY: 'none' },
    { UWSRP_TRUST_PROXY: 'none' },
    { UWSRP_APP_PORT: '3000', PORT: '0' },
    { UWSRP_DRAIN_DELAY: '0', UWSRP_DRAIN_TIMEOUT: '0' },
    { UWSRP_APP_SOCKET: `/${'a'.repeat(106)}` },
  ]) {
    assert.doesNotThrow(() => load(env));
  }
});
