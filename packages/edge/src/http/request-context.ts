import type { Context } from 'hono';
import { logError } from './error-response.ts';
import type { EdgeEnv, SessionAgent } from '../settings/handler-options.ts';

/** Second argument of `fetch` in `@hono/node-server`, in Bun and in Deno. */
interface ServerBindings {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly remoteAddr?: { readonly hostname?: string };
  requestIP?(request: Request): { readonly address: string } | null;
}

/** Keeps the Worker alive until `promise` has settled. Does nothing outside a Worker. */
export function waitUntil(c: Context<EdgeEnv>, promise: Promise<unknown>): void {
  const whenDone = promise.catch(() => {});
  try {
    c.executionCtx.waitUntil(whenDone);
  } catch {
    // Hono throws if the request has no ExecutionContext, as outside a Worker.
  }
}

/**
 * Calls `listener` once, when the client disconnects: the request is aborted, or the client cancels
 * a stream that has no answer yet. In Cloudflare Workers, aborts need the compatibility flag
 * `enable_request_signal`.
 */
export function onDisconnect(c: Context<EdgeEnv>, listener: () => void): void {
  const signal = AbortSignal.any([c.req.raw.signal, departureOf(c).signal]);
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
}

/** Calls the listeners of `onDisconnect`. */
export function reportDisconnect(c: Context<EdgeEnv>): void {
  departureOf(c).abort();
}

function departureOf(c: Context<EdgeEnv>): AbortController {
  const departure = c.get('departure') ?? new AbortController();
  c.set('departure', departure);
  return departure;
}

/**
 * Calls the agent's `close`, and keeps the Worker alive until `close` has resolved. If there is a
 * run, waits for the end of the run first.
 */
export function closeInBackground(
  c: Context<EdgeEnv>,
  { close }: Pick<SessionAgent, 'close'>,
  run?: Promise<unknown>,
): void {
  if (!close) return;
  const requestId = c.get('requestId');
  const closing = Promise.resolve(run)
    .catch(() => {})
    .then(close);
  waitUntil(
    c,
    closing.catch((error: unknown) => logError(error, requestId)),
  );
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
