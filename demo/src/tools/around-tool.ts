import type { ToolContext } from '@isoloop/core';
import { timesOf, type Pace } from '../pace.ts';
import { sleep } from '../sleep.ts';

/** Runs the work of one tool call. */
export type AroundTool = <T>(context: ToolContext, work: () => T | Promise<T>) => Promise<T>;

export interface AroundToolOptions {
  readonly pace: Pace;
  /** Counts a finished tool call, by its id. */
  readonly onRun?: (toolUseId: string) => Promise<void>;
}

/** Lets tool calls take their time, and counts them when they have finished. */
export function aroundTool({ pace, onRun }: AroundToolOptions): AroundTool {
  const [least, most] = timesOf(pace).toolMs;
  return async (context, work) => {
    if (most) await sleep(least + Math.random() * (most - least), context.signal);
    const result = await work();
    await onRun?.(context.toolUseId);
    return result;
  };
}
