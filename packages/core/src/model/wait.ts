import { timerMs } from './timer.ts';

/**
 * Resolves after `ms` milliseconds, or as soon as the signal is aborted. An abort clears the timer.
 */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, timerMs(ms));
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
