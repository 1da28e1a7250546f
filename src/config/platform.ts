import type { Platform } from './config.ts';

/** How messages and tables name the platforms. */
export const PLATFORM_NAMES: Readonly<Record<Platform, string>> = {
  heroku: 'Heroku',
  render: 'Render',
  fly: 'Fly.io',
  railway: 'Railway',
  'cloud-run': 'Cloud Run',
  scalingo: 'Scalingo',
  dokku: 'Dokku',
  'app-platform': 'App Platform',
  kubernetes: 'Kubernetes',
};

/**
 * The names each platform puts into a container's environment, most telling first:
 * - Dokku sets DYNO as Heroku does, and hands the app's settings in, its own `DOKKU_*` among them.
 * - Fly, Render, Railway (RAILWAY_ENVIRONMENT is the older name of RAILWAY_ENVIRONMENT_NAME), Cloud Run and Scalingo
 *   document theirs. Knative sets K_SERVICE too; it is served by Cloud Run's rules, the shorter ones.
 * - App Platform documents none for run time. This one is set in builds, and reported at run time but unconfirmed;
 *   where it is missing, the general defaults hold.
 * - Kubernetes comes last, for several of the others run on it and their containers carry its mark as well.
 */
const MARKS: readonly (readonly [Platform, readonly string[]])[] = [
  ['dokku', ['DOKKU_APP_TYPE', 'DOKKU_APP_RESTORE']],
  ['heroku', ['DYNO']],
  ['render', ['RENDER']],
  ['fly', ['FLY_APP_NAME']],
  ['railway', ['RAILWAY_ENVIRONMENT', 'RAILWAY_ENVIRONMENT_NAME', 'RAILWAY_ENVIRONMENT_ID']],
  ['scalingo', ['SCALINGO_APPLICATION_ID']],
  ['cloud-run', ['K_SERVICE']],
  ['app-platform', ['APP_PLATFORM_COMPONENT_TYPE']],
  ['kubernetes', ['KUBERNETES_SERVICE_HOST']],
];

type Environment = Readonly<Record<string, string | undefined>>;

/** The platform whose marks are in the environment; undefined for plain Docker, a laptop and everything unknown. */
export function recognisePlatform(env: Environment): Platform | undefined {
  return MARKS.find(([, names]) => names.some((name) => Boolean(env[name])))?.[0];
}

/**
 * Whether DYNO names a process that gets no requests: its type, the part before the first `.` (`release.4163`) or `-`
 * (`worker-7c5f-x2k9p` on Heroku's Fir), is not `web`. Heroku and Dokku route HTTP to `web` alone.
 */
export function isOneOffDyno(env: Environment): boolean {
  const dyno = env.DYNO;
  return Boolean(dyno) && dyno?.split(/[.-]/, 1)[0] !== 'web';
}
