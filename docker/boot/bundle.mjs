// Makes one CommonJS file of the compiled code and the packages that every boot needs: Node takes half a millisecond and
// more for each of the 150 modules it would otherwise look for, read and link. Run by the Dockerfile, beside dist/.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { build } from 'esbuild';

const dist = `${process.cwd()}/dist`;

/** `import.meta.url` keeps meaning the module that it stands in: paths to package.json and to worker threads hang on it. */
const ownUrls = {
  name: 'own-urls',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/dist\/.*\.js$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8');
      if (!path.startsWith(`${dist}/`)) return undefined;
      return { contents: contents.replaceAll('import.meta.url', `urlInDist(${JSON.stringify(relative(dist, path))})`) };
    }),
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
  plugins: [ownUrls],
  // Every process keeps the text, for what is compiled late: half a megabyte less of it. Lines stay short, since Node prints
  // the one in which an error arose.
  minifyWhitespace: true,
  lineLimit: 160,
  logLevel: 'warning',
});
