import { sleepFor } from '../../wait/timer.ts';

/** Options of a writer that tries again after another writer was faster. */
export interface ContentionOptions {
  /**
   * Function that waits for a time in milliseconds before a write is tried again. Default: uses
   * `setTimeout`.
   */
  readonly sleep?: (ms: number) => Promise<void>;
  /**
   * Returns a random number, at least 0 and less than 1, for the length of these waits. Default:
   * `Math.random`.
   */
  readonly random?: () => number;
}

/**
 * Number of attempts before a write gives up because other writers kept changing the value. The
 * waits between them take about 45 seconds.
 */
export const maxAttempts = 100;

const maxPauseMs = 1000;

/**
 * Waits before the attempt of that number, the first again being 1. The waits grow and are random,
 * so that writers who have met do not meet again.
 */
export function backOff(
  attempt: number,
  { sleep = sleepFor, random = Math.random }: ContentionOptions,
): Promise<void> {
  return sleep(Math.min(maxPauseMs, 2 ** attempt) * random());
}
