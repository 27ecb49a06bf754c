import type { CommandResult } from '../run-command.ts';
import type { StatusLine } from './status-line.ts';

/** The outcome of a step of `npm test`. A step without test files counts as one test. */
export interface StepResult {
  readonly passed: number;
  readonly failed: number;
  /** Shown after the duration when the step passes. */
  readonly note?: string;
  /** Printed when the step fails. Empty if the failures were already printed. */
  readonly output: string;
}

export interface StepContext {
  /** Parts of paths. The Vitest steps run only the matching test files. Empty: all of them. */
  readonly filters: readonly string[];
  readonly status: StatusLine;
}

export interface Step {
  readonly name: string;
  /** Whether it runs test files, which path filters can select. */
  readonly runsTestFiles?: boolean;
  /** Names of steps. If one of them failed in this run, this step does not run. */
  readonly needs?: readonly string[];
  run(context: StepContext): Promise<StepResult>;
}

export function resultOf({ ok, output }: CommandResult): StepResult {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, output };
}
