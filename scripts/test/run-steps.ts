import type { Step, StepContext, StepResult } from './step.ts';

export interface FinishedStep {
  readonly step: Step;
  readonly result: StepResult;
  readonly durationMs: number;
}

/** Two at a time keep both cores of a small machine busy, because tests also wait for browsers and servers. */
const concurrency = 2;

/** Runs the steps, each after those that it needs. Calls back as each one ends. */
export async function runSteps(steps: readonly Step[], context: StepContext, onEnd: (finished: FinishedStep) => void): Promise<void> {
  const waiting = [...steps];
  const unfinished = new Set(steps.map(({ name }) => name));
  const failed = new Set<string>();
  const running = new Set<Promise<void>>();

  const run = async (step: Step): Promise<void> => {
    const startedAt = Date.now();
    context.status.begin(step.name);
    const result = await resultOfStep(step, context, failed);
    if (result.failed > 0) failed.add(step.name);
    unfinished.delete(step.name);
    context.status.end(step.name);
    onEnd({ step, result, durationMs: Date.now() - startedAt });
  };

  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.findIndex(({ needs = [] }) => !needs.some((name) => unfinished.has(name)));
    if (next < 0 || running.size === concurrency) {
      await Promise.race(running);
      continue;
    }
    const [step] = waiting.splice(next, 1);
    const job = run(step!).finally(() => running.delete(job));
    running.add(job);
  }
}

async function resultOfStep(step: Step, context: StepContext, failed: ReadonlySet<string>): Promise<StepResult> {
  const missing = step.needs?.filter((name) => failed.has(name)) ?? [];
  if (missing.length > 0) return { passed: 0, failed: 1, output: `Not run: ${missing.join(', ')} failed.` };
  return step.run(context);
}
