/** Second argument of `fetch` in `@hono/node-server`, in Bun and in Deno. */
interface ServerBindings {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly remoteAddr?: { readonly hostname?: string };
  requestIP?(request: Request): { readonly address: string } | null;
}

/**
 * Returns the address that has connected to the server: the sender's, or that of a proxy. Returns
 * `undefined` if the host does not tell, as in a Worker. No client can forge this address.
 */
export function connectedAddress(env: unknown, request: Request): string | undefined {
  const { incoming, remoteAddr, requestIP } = Object(env) as ServerBindings;
  if (typeof requestIP === 'function') return requestIP.call(env, request)?.address;
  return incoming?.socket?.remoteAddress ?? remoteAddr?.hostname;
}
