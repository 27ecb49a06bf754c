import type { Context } from 'hono';
import { logError } from './error-response.ts';
import type { EdgeEnv, SessionAgent } from '../handler-options.ts';

/** Keeps the Worker alive until `promise` has settled. Outside a Worker, it settles anyway. */
export function waitUntil(c: Context<EdgeEnv>, promise: Promise<unknown>): void {
  const settled = promise.catch(() => {});
  try {
    c.executionCtx.waitUntil(settled);
  } catch {
    // Hono throws if the request came without an ExecutionContext.
  }
}

/**
 * Calls `listener` once, when the client disconnects. In Workers, the request's signal reports this
 * only with the flag `enable_request_signal`.
 */
export function onDisconnect(c: Context<EdgeEnv>, listener: () => void): void {
  const { signal } = c.req.raw;
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
}

/**
 * Keeps the Worker alive until the agent's `settled` has resolved, after the agent's run if it has
 * one.
 */
export function settleBehind(
  c: Context<EdgeEnv>,
  { settled }: Pick<SessionAgent, 'settled'>,
  run?: Promise<unknown>,
): void {
  if (!settled) return;
  const requestId = c.get('requestId');
  const settling = Promise.resolve(run)
    .catch(() => {})
    .then(settled);
  waitUntil(
    c,
    settling.catch((error: unknown) => logError(error, requestId)),
  );
}
