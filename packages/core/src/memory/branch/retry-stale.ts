import type { Verdict } from './echo-judge.ts';

export interface RetryStaleOptions {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Maximum time of all retries, in milliseconds. */
  readonly waitMs: number;
}

const firstDelayMs = 250;

/**
 * Calls `decide` again, with growing delays, while a late read may be the reason for the verdict.
 * Returns the last verdict.
 */
export async function retryStale(
  { now, sleep, waitMs }: RetryStaleOptions,
  decide: () => Promise<Verdict>,
): Promise<Verdict> {
  const end = now() + waitMs;
  for (let delay = firstDelayMs; ; delay *= 2) {
    const verdict = await decide();
    const isFinal = verdict.type === 'go' || (verdict.type === 'fork' && !verdict.mayBeStale);
    if (isFinal || now() + delay > end) return verdict;
    await sleep(delay);
  }
}
