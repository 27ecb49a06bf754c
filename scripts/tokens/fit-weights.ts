export interface FitInput {
  /** The counters of each text. */
  readonly rows: readonly Float64Array[];
  /** The number of tokens of each text. */
  readonly tokens: readonly number[];
  /** The importance of each text's error. */
  readonly importance: readonly number[];
  readonly priors: readonly WeightPrior[];
}

/** The prior (the expected value) of a weight, and the bounds of the weight. */
export interface WeightPrior {
  readonly value: number;
  readonly min: number;
  readonly max: number;
}

const rounds = 25;
const ridge = 1e-3;

/**
 * Finds the weights with the smallest sum of relative absolute errors, by iteratively reweighted
 * least squares. A small penalty keeps each weight close to its prior. If no text has a counter,
 * the weight equals the prior.
 *
 * Uses only sums, products, quotients and square roots, which are the same on every machine.
 */
export function fitWeights({ rows, tokens, importance, priors }: FitInput): readonly number[] {
  let weights: readonly number[] = priors.map(({ value }) => value);
  const emphasis = rows.map(() => 1);
  for (let round = 0; round < rounds; round++) {
    weights = solve(
      normalEquations(
        rows,
        tokens,
        rows.map((_, i) => (importance[i]! * emphasis[i]!) / (tokens[i]! * tokens[i]!)),
        priors,
      ),
      weights,
      priors,
    );
    for (const [i, row] of rows.entries()) {
      const error = Math.abs(weigh(row, weights) - tokens[i]!) / tokens[i]!;
      emphasis[i] = 1 / Math.max(error, 0.02);
    }
  }
  return weights;
}

export function weigh(row: Float64Array, weights: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += row[i]! * weights[i]!;
  return sum;
}

interface Equations {
  readonly left: readonly Float64Array[];
  readonly right: Float64Array;
}

function normalEquations(
  rows: readonly Float64Array[],
  tokens: readonly number[],
  rowWeights: readonly number[],
  priors: readonly WeightPrior[],
): Equations {
  const size = priors.length;
  const left = Array.from({ length: size }, () => new Float64Array(size));
  const right = new Float64Array(size);
  for (const [i, row] of rows.entries()) {
    const used = [...row.keys()].filter((column) => row[column] !== 0);
    for (const a of used) {
      const scaled = rowWeights[i]! * row[a]!;
      right[a]! += scaled * tokens[i]!;
      const line = left[a]!;
      for (const b of used) line[b]! += scaled * row[b]!;
    }
  }
  for (const [i, { value }] of priors.entries()) {
    const pull = ridge * left[i]![i]! + 0.01;
    left[i]![i]! += pull;
    right[i]! += pull * value;
  }
  return { left, right };
}

/** Solves the equations by coordinate descent within the bounds. */
function solve(
  { left, right }: Equations,
  start: readonly number[],
  priors: readonly WeightPrior[],
): readonly number[] {
  const weights = Float64Array.from(start);
  for (let sweep = 0; sweep < 400; sweep++) {
    let change = 0;
    for (const [i, { min, max }] of priors.entries()) {
      const line = left[i]!;
      let rest = right[i]!;
      for (let j = 0; j < weights.length; j++) if (j !== i) rest -= line[j]! * weights[j]!;
      const next = Math.min(max, Math.max(min, rest / line[i]!));
      change = Math.max(change, Math.abs(next - weights[i]!));
      weights[i] = next;
    }
    if (change < 1e-6) break;
  }
  return [...weights];
}
