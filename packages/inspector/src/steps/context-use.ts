import { countRequest } from '@isoloop/core/tokens';
import type { InspectedRun, InspectedStep } from './inspected-run.ts';

/** How much of the context window the last model request filled. */
export interface ContextUse {
  readonly tokens: number;
  /** Whether the provider counted the tokens. If not, they are estimated. */
  readonly isCounted: boolean;
}

/** Returns the use of the context by the last model request of the agent, if one is known. */
export function contextUse(runs: readonly InspectedRun[]): ContextUse | undefined {
  const steps = runs.filter(({ agentPath }) => agentPath.length < 2).flatMap((run) => run.steps);
  const step: InspectedStep | undefined = steps.findLast(({ kind }) => kind === 'reason');
  if (step?.kind !== 'reason') return undefined;
  const { usage, prompt } = step;
  if (usage) return { tokens: usage.inputTokens, isCounted: true };
  const { messages, tools } = prompt;
  if (typeof messages === 'number') return undefined;
  const request = { messages, tools: typeof tools === 'number' ? [] : tools };
  return { tokens: countRequest(request), isCounted: false };
}
