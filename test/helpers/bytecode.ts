/**
 * A script for the Node of an image or a slug, whose code lies in a folder: starts uwsrp as the launcher does, for its
 * version, and then tells whether V8 refused the bytecode that lies beside (`undefined` when there is none).
 */
export function tellBytecode(folder: string): string {
  return `
    process.argv.splice(1, Infinity, 'uwsrp', '--version');
    const script = require('${folder}/start.cjs');
    process.on('exit', () => console.log(script.cachedDataRejected));`;
}
