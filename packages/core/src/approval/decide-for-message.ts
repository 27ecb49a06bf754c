import type { CallState } from '../event/agent-status.ts';
import { waitsForApproval, type Decision } from '../event/pending-call.ts';
import type { Msg, ToolUse } from '../message/msg.ts';
import { logMemoryOf } from '../memory/memory.ts';
import { openToolUses } from '../message/conversation/tool-pairs.ts';
import { interruptedResult } from '../tool/tool-call.ts';
import type { Agent } from '../agent/agent.ts';

/** Decisions that came with the message, and which tool calls nobody can answer any more. */
export interface DecideForMessageOptions {
  /** Decisions that the user has made about open tool calls. */
  readonly clientDecisions?: readonly Decision[];
  /**
   * Returns whether nobody can finish the tool call, because the page or process of the tool has
   * ended. Such a tool call is closed as interrupted. Default: returns false.
   */
  readonly isToolGone?: (toolUse: ToolUse, state: CallState) => boolean;
}

/**
 * Returns decisions about all open tool calls of the stored messages. A chat needs them if the user
 * writes a new message and does not decide. Pass them to the agent call as `options.decisions`.
 * Tool calls that wait for approval are rejected, unless `clientDecisions` has a decision about
 * them. Returns an empty list if a tool call waits for something else. The agent then refuses the
 * message, or closes the tool calls (`closeOpenCalls`).
 */
export async function decideForMessage(
  { memory, tools, status }: Pick<Agent, 'memory' | 'tools' | 'status'>,
  storedMessages: readonly Msg[],
  options: DecideForMessageOptions = {},
): Promise<readonly Decision[]> {
  const { clientDecisions = [], isToolGone = () => false } = options;
  const openCalls = openToolUses(storedMessages);
  if (!openCalls.length) return [];
  await logMemoryOf(memory)?.restore(status, tools);
  const calls = openCalls.map((toolUse) => ({
    toolUse,
    state: status.calls.get(toolUse.id) ?? {},
  }));
  const isRoundDeferred = calls.some(({ state }) => isWaiting(state));
  const decisions = calls.flatMap(({ toolUse, state }): Decision | readonly Decision[] => {
    const clientDecision = clientDecisions.find(({ toolUseId }) => toolUseId === toolUse.id);
    const decision = clientDecision ?? state.decision;
    if (decision) return decision;
    // The tool call may only wait until the other tool calls of its reply have decisions.
    const isDeferred = isRoundDeferred && !state.started && !state.pending;
    if (isWaiting(state) || isDeferred) return rejection(toolUse);
    return isToolGone(toolUse, state) ? interruption(toolUse, state) : [];
  });
  return decisions.length === openCalls.length ? decisions : [];
}

/** Returns whether a tool call waits for an approval. */
function isWaiting({ pending }: CallState): boolean {
  return pending !== undefined && waitsForApproval(pending);
}

function rejection({ id: toolUseId }: ToolUse): Decision {
  const reason = 'the user wrote a new message instead of deciding';
  return { toolUseId, type: 'reject', reason };
}

function interruption(toolUse: ToolUse, state: CallState): Decision {
  const { toolUseId, output: outcomeText } = interruptedResult(toolUse, state);
  const output = `${String(outcomeText)} The page or process that ran it has ended.`;
  return { toolUseId, type: 'result', output, state: 'interrupted' };
}
