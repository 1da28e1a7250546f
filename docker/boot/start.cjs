'use strict';
// Starts uwsrp.cjs from the bytecode that was made of it while the image or slug was built (warm.cjs). Node's own compile
// cache (module.enableCompileCache) keeps a folder for each user, which an image cannot have for the random ones of some
// platforms; V8's takes no interest in who reads it, nor in where it lies, and needs nothing that can be written.
const { readFileSync } = require('node:fs');
const { pathToFileURL } = require('node:url');
const { Script } = require('node:vm');

const filename = `${__dirname}/uwsrp.cjs`;
const urlInDist = (path) => pathToFileURL(`${__dirname}/dist/${path}`).href;
const importModule = (url) => import(url);

// Only ASCII is in it, and as latin1 it is read without a look at each byte.
const script = new Script(readFileSync(filename, 'latin1'), {
  filename,
  // V8 itself looks whether it fits (its version, the flags, the source), and compiles as ever where it does not.
  cachedData: tryRead(`${__dirname}/uwsrp.cache`),
});
const bundle = { exports: {} };
script.runInThisContext()(require, bundle, bundle.exports, urlInDist, importModule);

module.exports = script;

function tryRead(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
