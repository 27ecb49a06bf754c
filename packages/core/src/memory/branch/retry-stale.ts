import type { Verdict } from './echo-judge.ts';

export interface RetryStaleOptions {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Milliseconds for which it retries. */
  readonly waitMs: number;
}

const firstDelayMs = 250;

/** Decides again, with growing delays, while a late read may explain the verdict. */
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
