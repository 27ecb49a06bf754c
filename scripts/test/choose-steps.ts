import type { Step } from './step.ts';

export interface Choice {
  readonly steps: readonly Step[];
  /** Parts of paths of test files. Empty: all files. */
  readonly filters: readonly string[];
}

/**
 * Reads the arguments of `npm test`: names of steps, and parts of paths (with a `/` or a `.`) of the test files to run.
 * Paths without a step run in every step that has test files. Returns the unknown words if there are any.
 */
export function chooseSteps(steps: readonly Step[], args: readonly string[]): Choice | { readonly unknown: readonly string[] } {
  const filters = args.filter((arg) => /[/.]/.test(arg));
  const names = args.filter((arg) => !filters.includes(arg));
  const unknown = names.filter((name) => !steps.some((step) => stepMatches(step, name)));
  if (unknown.length > 0) return { unknown };
  if (names.length > 0) {
    return { filters, steps: steps.filter((step) => names.some((name) => stepMatches(step, name))) };
  }
  return { filters, steps: filters.length > 0 ? steps.filter((step) => step.runsTestFiles) : steps };
}

/** `publint` stands for `publint core`, `publint edge` and so on. */
function stepMatches({ name }: Step, wanted: string): boolean {
  return name === wanted || name.startsWith(`${wanted} `);
}
