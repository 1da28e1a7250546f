import { OWN_NAMES } from './schema.ts';

/**
 * The environment of the user's command: the real one over what the `.env` file holds. The launcher takes the app's
 * NODE_OPTIONS away from our Node and leaves them in UWSRP_APP_NODE_OPTIONS; here they are put back. Where the launcher
 * did not run, NODE_OPTIONS is the app's own and stays.
 */
export function createChildEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  file: Readonly<Record<string, string>>,
): Record<string, string> {
  const child: Record<string, string> = { ...file };
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined) child[name] = value;
  }
  const nodeOptions = env.UWSRP_APP_NODE_OPTIONS;
  if (nodeOptions) child.NODE_OPTIONS = nodeOptions;
  for (const name of OWN_NAMES) delete child[name];
  return child;
}
