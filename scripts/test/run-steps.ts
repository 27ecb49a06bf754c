import type { Step, StepResult } from './step.ts';

export interface RunStepsOptions {
  /** How many steps run at the same time. */
  readonly lanes: number;
  readonly run: (step: Step) => Promise<StepResult>;
  /** Called when a step has ended. */
  readonly onEnd: (step: Step, result: StepResult, durationMs: number) => void;
}

/**
 * Runs steps in their order, several at the same time. A step waits for the steps that it names. If
 * one that it needs has failed, the step does not run and counts as failed. A step that is not in
 * the list counts as done.
 */
export async function runSteps(
  steps: readonly Step[],
  { lanes, run, onEnd }: RunStepsOptions,
): Promise<void> {
  const waiting = [...steps];
  const running = new Map<Step, Promise<void>>();
  const failed = new Set<string>();
  const isOpen = (name: string): boolean =>
    [...waiting, ...running.keys()].some((step) => step.name === name);
  const attempt = async (step: Step): Promise<StepResult> => {
    const missing = step.needs?.filter((name) => failed.has(name)) ?? [];
    return missing.length > 0 ? notRun(missing) : run(step);
  };
  const runOne = async (step: Step): Promise<void> => {
    const begin = Date.now();
    const result = await attempt(step);
    if (result.failed > 0) failed.add(step.name);
    running.delete(step);
    onEnd(step, result, Date.now() - begin);
  };
  while (waiting.length > 0 || running.size > 0) {
    const index = waiting.findIndex(
      ({ needs = [], after = [] }) => ![...needs, ...after].some(isOpen),
    );
    if (running.size < lanes && index >= 0) {
      const [step] = waiting.splice(index, 1);
      running.set(step!, runOne(step!));
    } else {
      await Promise.race(running.values());
    }
  }
}

function notRun(missing: readonly string[]): StepResult {
  return { passed: 0, failed: 1, output: `Not run: ${missing.join(', ')} failed.` };
}
