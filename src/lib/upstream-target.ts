/** Where the app listens. TCP targets are always numeric loopback addresses, never the name `localhost`. */
export type UpstreamTarget =
  | { readonly kind: 'tcp'; readonly host: '127.0.0.1' | '::1'; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** For messages and logs: `127.0.0.1:3000`, `[::1]:3000` or `unix:/tmp/app.sock`. */
export function formatTarget(target: UpstreamTarget): string {
  if (target.kind === 'unix') return `unix:${target.path}`;
  return target.host === '::1' ? `[::1]:${target.port}` : `${target.host}:${target.port}`;
}
