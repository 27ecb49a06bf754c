/**
 * How fast the offline model and its tools work. `real`: like a real model and real services, so
 * that there is time to kill something. `fast`: without a pause.
 */
export type Pace = 'real' | 'fast';

export interface PaceTimes {
  /** Time before the first delta of a reply, in milliseconds. */
  readonly firstDelayMs: number;
  /** Time between two deltas, in milliseconds. A delta is about one word. */
  readonly delayMs: number;
  /** Shortest and longest time of a tool call, in milliseconds. */
  readonly toolMs: readonly [least: number, most: number];
}

/** A word has about 1.3 tokens, so 32 milliseconds per word are 40 tokens per second. */
const real: PaceTimes = { firstDelayMs: 500, delayMs: 32, toolMs: [1_000, 3_000] };
const fast: PaceTimes = { firstDelayMs: 0, delayMs: 0, toolMs: [0, 0] };

export function timesOf(pace: Pace): PaceTimes {
  return pace === 'real' ? real : fast;
}
