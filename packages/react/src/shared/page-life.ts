import { sleepFor } from '@isoloop/core/wait';

/** Calls `listener` when the page is shown or hidden. Ends when the signal aborts. */
export function onVisibility(listener: () => void, signal: AbortSignal): void {
  document.addEventListener('visibilitychange', listener, { signal });
}

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
 * Calls `listener` when the person comes back to the page. A hidden page does not look, because it
 * looks when it is visible. Returns a function that looks now.
 */
export function onReturn(listener: () => void, signal: AbortSignal): () => void {
  const look = (): void => {
    if (!document.hidden) listener();
  };
  addEventListener('focus', look, { signal });
  onVisibility(look, signal);
  onWake(look, signal);
  return look;
}

/** Returns a controller that aborts when the page is hidden, or when the signal aborts. */
export function visibleSignal(signal: AbortSignal): AbortController {
  return endingWith(signal, (end, ending) => {
    const look = (): void => {
      if (document.hidden) end();
    };
    onVisibility(look, ending);
    look();
  });
}

/** Resolves when the page is visible, or when the signal aborts. */
export async function untilVisible(signal: AbortSignal): Promise<void> {
  const { signal: ending } = endingWith(signal, (end, listening) => {
    const look = (): void => {
      if (!document.hidden) end();
    };
    onVisibility(look, listening);
    look();
  });
  if (!ending.aborted) await new Promise((resolve) => ending.addEventListener('abort', resolve));
}

/**
 * Resolves after `ms` milliseconds, when the page wakes up or is shown, or when the signal aborts.
 * While the browser is offline, waits until it is online.
 */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const listen: Listen = (end, ending) => {
    onVisibility(end, ending);
    onWake(end, ending);
  };
  await sleepUntil(ms, signal, listen);
  await untilOnline(signal);
}

/** Resolves when the browser is online, or when the signal aborts. */
export async function untilOnline(signal: AbortSignal): Promise<void> {
  while (isOffline() && !signal.aborted) await sleepUntil(Infinity, signal, onWake);
}

/** Whether the browser says that it is offline. React Native says nothing. */
export function isOffline(): boolean {
  return navigator.onLine === false;
}

/** Calls `end` when something happens. Stops to listen when `ending` aborts. */
type Listen = (end: () => void, ending: AbortSignal) => void;

async function sleepUntil(ms: number, signal: AbortSignal, listen: Listen): Promise<void> {
  const ending = endingWith(signal, listen);
  await sleepFor(ms, ending.signal);
  ending.abort();
}

/** Returns a controller that aborts with the signal, or when `listen` calls `end`. */
function endingWith(signal: AbortSignal, listen: Listen): AbortController {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  signal.addEventListener('abort', end, { signal: controller.signal });
  listen(end, controller.signal);
  if (signal.aborted) end();
  return controller;
}
