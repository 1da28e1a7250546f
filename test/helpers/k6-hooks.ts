/** Loader hooks of node:module: `k6` and `k6/http` mean the stand-ins in the folder k6. */
export async function resolve(
  specifier: string,
  context: unknown,
  next: (specifier: string, context: unknown) => Promise<unknown>,
): Promise<unknown> {
  const [whole, name = 'k6'] = /^k6(?:\/(\w+))?$/.exec(specifier) ?? [];
  if (whole === undefined) return next(specifier, context);
  return { url: new URL(`./k6/${name}.js`, import.meta.url).href, shortCircuit: true };
}
