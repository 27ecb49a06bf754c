import type { CommandResult } from '../run-command.ts';
import type { StatusLine } from './status-line.ts';

/** The outcome of a step of `npm test`. A step without test files counts as one test. */
export interface StepResult {
  readonly passed: number;
  readonly failed: number;
  /** Text after the duration if the step passes. */
  readonly note?: string;
  /** Text to print if the step fails. Empty if the failures were already printed. */
  readonly output: string;
  /** Names of failed tests, `file > title`, for the list at the end. */
  readonly failures?: readonly string[];
}

export interface StepContext {
  /**
   * Parts of paths. The Vitest steps run only test files with a matching path. An empty list
   * selects all files.
   */
  readonly filters: readonly string[];
  readonly status: StatusLine;
}

export interface Step {
  readonly name: string;
  /** What the step checks, for people. */
  readonly about: string;
  /** Whether the step is part of `npm test`, of `npm run test:all`, or of both. */
  readonly runsIn: 'quick' | 'rest' | 'both';
  /** Whether the step runs test files, so that path filters apply to it. */
  readonly runsTestFiles?: boolean;
  /** Names of earlier steps. If one of them has failed, this step does not run. */
  readonly needs?: readonly string[];
  /** Names of earlier steps that must have ended, because they use the same files. */
  readonly after?: readonly string[];
  run(context: StepContext): Promise<StepResult>;
}

export function resultOf({ ok, output }: CommandResult): StepResult {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, output };
}
