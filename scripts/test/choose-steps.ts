import type { Step } from './step.ts';

export interface Choice {
  readonly steps: readonly Step[];
  /** Parts of the paths of test files. An empty list selects all files. */
  readonly filters: readonly string[];
}

/**
 * Splits the arguments of `npm test` into names of steps and path filters. An argument with `/` or
 * `.` is a path filter. If all arguments are filters, selects every step with test files. If a step
 * is unknown, returns only the unknown names.
 */
export function chooseSteps(
  steps: readonly Step[],
  args: readonly string[],
): Choice | { readonly unknown: readonly string[] } {
  const filters = args.filter((arg) => /[/.]/.test(arg));
  const names = args.filter((arg) => !filters.includes(arg));
  const unknown = names.filter((name) => !steps.some((step) => stepMatches(step, name)));
  if (unknown.length > 0) return { unknown };
  if (names.length > 0) {
    return {
      filters,
      steps: steps.filter((step) => names.some((name) => stepMatches(step, name))),
    };
  }
  return {
    filters,
    steps: filters.length > 0 ? steps.filter((step) => step.runsTestFiles) : steps,
  };
}

/** Returns whether a step is wanted. `publint` selects `publint core`, `publint edge` and so on. */
function stepMatches({ name }: Step, wanted: string): boolean {
  return name === wanted || name.startsWith(`${wanted} `);
}
