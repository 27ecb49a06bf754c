import { sleepFor } from '@isoloop/core/adapter';

/**
 * Calls `listener` when open connections are probably dead: the browser is online again, or it has
 * restored the page from its cache. Ends with the signal.
 */
export function onWake(listener: () => void, signal: AbortSignal): void {
  const onShow = ({ persisted }: PageTransitionEvent): void => {
    if (persisted) listener();
  };
  addEventListener('online', listener, { signal });
  addEventListener('pageshow', onShow, { signal });
}

/**
 * Resolves after `ms` milliseconds, when the page wakes up or is shown, or when the signal aborts.
 * While the browser is offline, waits until it is online.
 */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleepUntilWake(ms, signal);
  while (!navigator.onLine && !signal.aborted) await sleepUntilWake(Infinity, signal);
}

async function sleepUntilWake(ms: number, signal: AbortSignal): Promise<void> {
  const sleeping = new AbortController();
  const end = (): void => sleeping.abort();
  const listening = { signal: sleeping.signal };
  signal.addEventListener('abort', end, listening);
  document.addEventListener('visibilitychange', end, listening);
  onWake(end, sleeping.signal);
  if (signal.aborted) end();
  await sleepFor(ms, sleeping.signal);
  end();
}
