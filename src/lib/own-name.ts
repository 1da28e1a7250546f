/**
 * The command without leading words `uwsrp`, so that a Procfile or CMD shared with the buildpack does not put one
 * proxy behind another (design section 2). A single word may be a whole shell line: Heroku hands CMD over as one text.
 * An empty list means that no command was given.
 */
export function dropOwnName(words: readonly string[]): string[] {
  const rest = [...words];
  while (rest[0] !== undefined) {
    const line = dropOwnNameFromLine(rest[0]);
    if (line === rest[0]) break;
    if (line === '') rest.shift();
    else rest[0] = line;
  }
  return rest;
}

/**
 * The same for a shell line: `uwsrp node server.js` becomes `node server.js`, `uwsrp` alone an empty text. The path in
 * the image counts too: it is what start commands that replace the ENTRYPOINT say.
 */
export function dropOwnNameFromLine(line: string): string {
  return line.replace(/^\s*(?:(?:\/opt\/uwsrp\/bin\/)?uwsrp(?:\s+|$))+/, '');
}
