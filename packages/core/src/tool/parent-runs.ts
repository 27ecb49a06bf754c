import { contextToken, type ContextToken } from './context-token.ts';
import type { ToolContext } from './tool.ts';

/** Ids of the runs above a child agent's run, the outermost first. Not provided to other agents. */
export const parentRuns: ContextToken<readonly string[]> = contextToken('parent runs');

/** Returns the ids of the runs above a child agent that this tool call runs. */
export function runsAboveChild({ runId, get }: Pick<ToolContext, 'runId' | 'get'>): string[] {
  try {
    return [...get(parentRuns), runId];
  } catch {
    return [runId];
  }
}
