import { withSlashes } from '../with-slashes.ts';
import type { Step } from './step.ts';
import type { Suite } from './suite-files.ts';

export interface Choice {
  readonly steps: readonly Step[];
  /** Parts of the paths of test files. An empty list selects all files. */
  readonly filters: readonly string[];
}

/**
 * Splits the arguments of `npm test` into names of steps and path filters. An argument with `/` or
 * `.` is a path filter. Without arguments, selects the steps of the suite. If all arguments are
 * filters, selects every step with test files. If a step is unknown, returns only the unknown
 * names.
 */
export function chooseSteps(
  steps: readonly Step[],
  args: readonly string[],
  suite: Suite,
): Choice | { readonly unknown: readonly string[] } {
  const isPath = (arg: string): boolean => /[\\/.]/.test(arg);
  const filters = args.filter(isPath).map((path) => withSlashes(path));
  const names = args.filter((arg) => !isPath(arg));
  const unknown = names.filter((name) => !steps.some((step) => stepMatches(step, name)));
  if (unknown.length > 0) return { unknown };
  if (names.length > 0) {
    return {
      filters,
      steps: steps.filter((step) => names.some((name) => stepMatches(step, name))),
    };
  }
  if (filters.length > 0) return { filters, steps: steps.filter((step) => step.runsTestFiles) };
  return { filters, steps: steps.filter((step) => belongsTo(suite, step)) };
}

function belongsTo(suite: Suite, { runsIn }: Step): boolean {
  return suite === 'long' || runsIn === suite || runsIn === 'both';
}

/** Returns whether a step is wanted. `publint` selects `publint core`, `publint edge` and so on. */
function stepMatches({ name }: Step, wanted: string): boolean {
  return name === wanted || name.startsWith(`${wanted} `);
}
