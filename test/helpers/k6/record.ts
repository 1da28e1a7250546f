/** What a scenario did with the stand-ins; k6-run.ts prints it. */
export const record = {
  checks: [] as { name: string; passed: boolean }[],
  /** Values by metric; a rate has booleans. */
  metrics: {} as Record<string, (number | boolean)[]>,
  requests: [] as { url: string; params: unknown }[],
  sleeps: [] as number[],
  aborted: undefined as string | undefined,
};
