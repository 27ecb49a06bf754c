import { longestTimeout } from './deadline.ts';

/**
 * Resolves after so many milliseconds, or as soon as the signal is raised; leaves no timer behind
 * then.
 */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, longestTimeout));
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
