import { readVersion } from '../lib/version.ts';
import { wrapText } from '../lib/wrap-text.ts';
import { formatDefault, SCHEMA, type Variable } from './schema.ts';

const WIDTH = 100;

const USAGE = `Usage:
  uwsrp [--] [command [argument...]]   start the command on a private port, wait until it is ready,
                                       then serve it on $PORT
  uwsrp --check                        check the configuration, print what is in force, and exit
  uwsrp --help                         print this text
  uwsrp --version                      print the version

Without a command: UWSRP_COMMAND, else the Procfile's UWSRP_PROCESS line, else npm start.
Durations have a unit (250ms, 30s, 5m, 1h), sizes may have one (512, 64kb, 16mb), an empty value
means unset. Variables are read from the environment and from .env in the work folder.
`;

/** The text of `uwsrp --help`: usage and every variable, at most 100 columns wide. */
export function formatHelp(): string {
  const variables: readonly Variable<unknown>[] = Object.values(SCHEMA);
  const nameWidth = Math.max(...variables.map(({ name }) => name.length)) + 2;
  const rows = variables.map((variable) => {
    const text = `${variable.meaning} Allowed: ${variable.kind.allowed}. Default: ${formatDefault(variable)}.`;
    const lines = wrapText(text.replaceAll('`', ''), WIDTH - 2 - nameWidth);
    return lines.map((line, index) => `  ${(index === 0 ? variable.name : '').padEnd(nameWidth)}${line}`).join('\n');
  });
  return `uwsrp ${readVersion()}: any web command behind uWebSockets.js on one port\n\n${USAGE}\nVariables:\n${rows.join('\n')}\n`;
}
