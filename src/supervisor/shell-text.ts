/** Words that a POSIX shell (or bash, where that is /bin/sh) does itself: `exec` needs a program. */
const SHELL_OWN_WORDS = new Set(
  (
    '. : [ alias bg break cd command continue echo eval exec exit export false fc fg getopts hash jobs kill local ' +
    'printf pwd read readonly return set shift source test times trap true type ulimit umask unalias unset wait ' +
    '! { } [[ case do done elif else esac fi for function if in select then time until while'
  ).split(' '),
);

const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;

/**
 * Makes a shell line's program replace the shell, where it is one simple command, so that it gets signals itself and
 * its exit code is its own. Anything else (operators, redirections, assignments, the shell's own words) stays as it
 * is: the shell then waits for the program.
 */
export function withExec(text: string): string {
  const line = text.trim();
  const program = programOf(line);
  if (program === undefined || program.startsWith('-')) return line;
  return ASSIGNMENT.test(program) || SHELL_OWN_WORDS.has(program) ? line : `exec ${line}`;
}

/**
 * The first word, without its quotes, of a line that is one simple command; undefined for a line with an operator, a
 * redirection, a substitution, or a quote that is not closed. Expansions ($HOME) stay as they are written.
 */
function programOf(line: string): string | undefined {
  let program = '';
  let isProgramRead = false;
  let quote: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    let char = line[at]!;
    if (char === quote) {
      quote = undefined;
      continue;
    }
    if (quote !== "'" && (char === '`' || line.startsWith('$(', at))) return undefined;
    if (quote === undefined) {
      if (/[;&|<>()\n]/.test(char)) return undefined;
      if (char === '"' || char === "'") {
        quote = char;
        continue;
      }
      if (/\s/.test(char)) isProgramRead = true;
    }
    if (char === '\\' && quote !== "'") {
      at += 1;
      char = line[at] ?? '';
    }
    if (!isProgramRead) program += char;
  }
  return quote === undefined && program !== '' ? program : undefined;
}
