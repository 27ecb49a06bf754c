import type { CommandResult } from '../run-command.ts';
import type { StatusLine } from './status-line.ts';

/** The outcome of a step of `npm test`. A step without tests of its own counts as one. */
export interface StepResult {
  readonly passed: number;
  readonly failed: number;
  /** A word for the line of a green step. */
  readonly note?: string;
  /** Shown if the step fails, unless it printed its failures already. */
  readonly output: string;
}

export interface StepContext {
  /** Parts of paths: the Vitest steps run only test files that match one. Empty: all of them. */
  readonly filters: readonly string[];
  readonly status: StatusLine;
}

export interface Step {
  readonly name: string;
  /** Whether it runs test files, which can be chosen by path. */
  readonly runsTestFiles?: boolean;
  /** Names of earlier steps that must succeed first. */
  readonly needs?: readonly string[];
  run(context: StepContext): Promise<StepResult>;
}

export function resultOf({ ok, output }: CommandResult): StepResult {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, output };
}
