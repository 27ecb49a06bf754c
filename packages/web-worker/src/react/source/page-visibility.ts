/** Calls `listener` when the page is shown or hidden. Ends when the signal aborts. */
export function onVisibility(listener: () => void, signal: AbortSignal): void {
  document.addEventListener('visibilitychange', listener, { signal });
}

/** Resolves when the page is visible, or when the signal aborts. */
export function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.visibilityState !== 'visible' && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

/** Returns a controller that aborts when the page is hidden, or when the signal aborts. */
export function visibleSignal(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  const look = (): void => {
    if (document.hidden) end();
  };
  onVisibility(look, controller.signal);
  signal.addEventListener('abort', end, { signal: controller.signal });
  if (signal.aborted) end();
  look();
  return controller;
}
