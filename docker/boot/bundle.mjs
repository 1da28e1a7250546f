// Makes one function of the compiled code and the packages that every boot needs: Node takes half a millisecond and
// more for each of the 150 modules it would otherwise look for, read and link. Run in the folder that has
// dist/, by the Dockerfile and the buildpack (bin/steps/install.sh).
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { build } from 'esbuild';

const dist = `${process.cwd()}/dist`;

/**
 * What a module of ours has from Node comes from start.cjs: its `import.meta.url`, on which paths to package.json and to
 * worker threads hang, and import() of what is not bundled (the user's module, ioredis). A script of node:vm has none of
 * its own, unless with a warning on stderr.
 */
const ownMeans = {
  name: 'own-means',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/dist\/.*\.js$/ }, ({ path }) => {
      if (!path.startsWith(`${dist}/`)) return undefined;
      const contents = readFileSync(path, 'utf8')
        .replace(/^#!.*/, '')
        .replaceAll('import.meta.url', `urlInDist(${JSON.stringify(relative(dist, path))})`)
        .replaceAll(/\bimport\((?!['"]\.)/g, 'importModule(');
      return { contents };
    }),
};

/** Pino loads it for its transports, of which we have none, and with it worker threads: 0.3 MB of every process. */
const noTransports = {
  name: 'no-transports',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/node_modules\/thread-stream\/index\.js$/ }, () => ({
      contents: 'module.exports = class { constructor() { throw new Error("pino transports are not in the bundle"); } };',
    })),
};

await build({
  entryPoints: [`${dist}/main.js`],
  outfile: 'uwsrp.cjs',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: `node${process.versions.node}`,
  // The addon finds its file beside itself; the others are loaded by few, when they need them.
  external: ['uWebSockets.js', 'ioredis'],
  plugins: [ownMeans, noTransports],
  // One function, for start.cjs to call: to put this around the text there would leave copies of it in the memory.
  banner: { js: '(function (require, module, exports, urlInDist, importModule) {' },
  footer: { js: '})' },
  // Every process keeps the text, for what is compiled late: half a megabyte less of it. Lines stay short, since Node prints
  // the one in which an error arose.
  minifyWhitespace: true,
  lineLimit: 160,
  logLevel: 'warning',
});
