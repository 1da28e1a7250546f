import { formatDefault, SCHEMA, type Variable } from './schema.ts';

/** The README's table of variables, in Markdown. A test holds the README to it. */
export function formatReadmeTable(): string {
  const rows = Object.values(SCHEMA).map((variable: Variable<unknown>) => {
    const cells = [`\`${variable.name}\``, formatDefault(variable), variable.meaning];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}
