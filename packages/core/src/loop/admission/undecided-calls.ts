import type { ToolUse } from '../../message/content-block.ts';
import type { RunContext } from '../run/run-context.ts';
import { runOf } from '../run/run-view.ts';
import { needsDecision } from './admit-call.ts';

/** Returns the tool calls that still need an approval. */
export async function undecidedCalls(
  calls: readonly ToolUse[],
  context: RunContext,
): Promise<readonly ToolUse[]> {
  const run = runOf(context);
  const needs = await Promise.all(calls.map((call) => needsDecision(run, call)));
  return calls.filter((_call, index) => needs[index]);
}
