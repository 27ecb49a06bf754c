import { decodeWeight } from '../../packages/core/src/tokens/fitted-profile.ts';
import { weigh, type FitInput } from './fit-weights.ts';

/**
 * The printable characters from `R` to `~` and from `#` to `Q`, in the order of the weights that
 * they encode. Frequent weights get lower-case letters and signs. These characters are also
 * frequent in the code, so the bundle compresses better.
 */
const characters: readonly string[] = Array.from({ length: 92 }, (_, i) =>
  String.fromCharCode(35 + ((i + 47) % 92)),
);
const grid: readonly number[] = characters.map(decodeWeight);

/**
 * Rounds each weight to a value that one character can encode. Starts with the nearest values. Then
 * moves single weights by one or two steps as long as a move reduces the sum of the errors.
 */
export function quantizeWeights(
  weights: readonly number[],
  { rows, tokens, importance, priors }: FitInput,
): string {
  const steps = weights.map(nearest);
  const estimates = rows.map((row) =>
    weigh(
      row,
      steps.map((step) => grid[step]!),
    ),
  );
  const columns = weights.map((_, column) =>
    [...rows.keys()].filter((i) => rows[i]![column] !== 0),
  );

  for (let moved = true; moved;) {
    moved = false;
    for (const [column, { min, max }] of priors.entries()) {
      const step = steps[column]!;
      const candidates = [-2, -1, 1, 2]
        .map((by) => step + by)
        .filter((to) => grid[to]! >= min && grid[to]! <= max);
      const gains = candidates.map((to) => gainOf(column, grid[to]! - grid[step]!));
      const best = Math.max(0, ...gains);
      if (best < 1e-9) continue;
      const to = candidates[gains.indexOf(best)]!;
      for (const i of columns[column]!)
        estimates[i]! += (grid[to]! - grid[step]!) * rows[i]![column]!;
      steps[column] = to;
      moved = true;
    }
  }
  return steps.map((step) => characters[step]).join('');

  /** Returns by how much the sum of the errors decreases if a weight changes. */
  function gainOf(column: number, change: number): number {
    let gain = 0;
    for (const i of columns[column]!) {
      const before = Math.abs(estimates[i]! - tokens[i]!);
      const after = Math.abs(estimates[i]! + change * rows[i]![column]! - tokens[i]!);
      gain += (importance[i]! * (before - after)) / tokens[i]!;
    }
    return gain;
  }
}

function nearest(weight: number): number {
  const distances = grid.map((value) => Math.abs(value - weight));
  return distances.indexOf(Math.min(...distances));
}
