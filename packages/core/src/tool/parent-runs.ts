import { contextToken, type ContextToken } from './context-token.ts';
import type { ToolContext } from './tool.ts';

/** Ids of the runs above a child agent's run, the outermost first. */
export const parentRuns: ContextToken<readonly string[]> = contextToken('parent runs');

/** Returns the ids of the runs above a child agent that this tool call runs. */
export function runsAboveChild({ runId, get }: Pick<ToolContext, 'runId' | 'get'>): string[] {
  return [...parentsOf(get), runId];
}

/** Returns an empty list if the tool's own agent is no child. */
function parentsOf(get: ToolContext['get']): readonly string[] {
  try {
    return get(parentRuns);
  } catch {
    return [];
  }
}
