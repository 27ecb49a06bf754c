import { groupNames, tokenizers, type Segment } from './corpus.ts';

/** Returns the estimated number of tokens of a text. */
export type Estimator = (text: string) => number;

/** Relative errors of estimates. 0.05 means 5%. */
export interface Accuracy {
  /** Mean of the absolute errors. */
  readonly mean: number;
  /** 95th percentile of the absolute errors. */
  readonly p95: number;
  /** Mean of the signed errors. Negative if the estimates are too low. */
  readonly bias: number;
}

/** Returns the signed relative error of each text for one tokenizer. */
export function errorsOf(
  segments: readonly Segment[],
  tokenizer: string,
  estimate: Estimator,
): readonly number[] {
  const column = tokenizers.indexOf(tokenizer);
  return segments.map(({ text, counts }) => (estimate(text) - counts[column]!) / counts[column]!);
}

export function accuracyOf(errors: readonly number[]): Accuracy {
  const sizes = errors.map(Math.abs).toSorted((a, b) => a - b);
  return {
    mean: meanOf(sizes),
    p95: sizes[Math.floor(sizes.length * 0.95)]!,
    bias: meanOf(errors),
  };
}

/** Returns the accuracy in each group, in the corpus's order. */
export function accuracyByGroup(
  segments: readonly Segment[],
  errors: readonly number[],
): ReadonlyMap<string, Accuracy> {
  return new Map(
    groupNames.map(
      (group) =>
        [group, accuracyOf(errors.filter((_, i) => segments[i]!.group === group))] as const,
    ),
  );
}

/** The kinds of conversation histories. Each has the share of each text group. */
export const histories: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  Korean: { korean: 1 },
  Japanese: { japanese: 1 },
  Chinese: { 'zh-simpl': 1 },
  English: { english: 1 },
  'Korean agent': { korean: 0.6, json: 0.2, code: 0.2 },
  'Japanese agent': { japanese: 0.6, json: 0.2, code: 0.2 },
  'Chinese agent': { 'zh-simpl': 0.6, json: 0.2, code: 0.2 },
  'English agent': { english: 0.6, json: 0.2, code: 0.2 },
};

const historyTokens = 8000;
const historyCount = 300;

/**
 * Returns the errors on random conversation histories of 8,000 tokens. `estimates` has one number
 * per text. The histories are the same each time.
 */
export function historyErrors(
  segments: readonly Segment[],
  {
    parts,
    tokenizer,
    estimates,
  }: { parts: Readonly<Record<string, number>>; tokenizer: string; estimates: readonly number[] },
): readonly number[] {
  const column = tokenizers.indexOf(tokenizer);
  const random = randomNumbers();
  const pools = Object.keys(parts).map((group) =>
    [...segments.keys()].filter((i) => segments[i]!.group === group),
  );
  const shares = Object.values(parts);
  return Array.from({ length: historyCount }, () => {
    let tokens = 0;
    let estimated = 0;
    while (tokens < historyTokens) {
      const pool = pools[pick(shares, random())]!;
      const segment = pool[Math.floor(random() * pool.length)]!;
      tokens += segments[segment]!.counts[column]!;
      estimated += estimates[segment]!;
    }
    return (estimated - tokens) / tokens;
  });
}

/**
 * Returns the index of a share. `at`, a number from 0 to 1, selects it: larger shares have a larger
 * range.
 */
function pick(shares: readonly number[], at: number): number {
  let sum = 0;
  const found = shares.findIndex((share) => (sum += share) > at);
  return found < 0 ? shares.length - 1 : found;
}

/** Returns a generator of numbers from 0 to 1 (mulberry32). It always starts with the same seed. */
function randomNumbers(): () => number {
  let state = 4;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
