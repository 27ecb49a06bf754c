import { AgentError } from '../../error/agent-error.ts';
import type { Decision } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';

/**
 * Throws `INVALID_DECISION` if a decision does not match an open tool call, or if two decisions are
 * for the same one. Also throws if decisions come with messages other than tool results.
 */
export function checkDecisions(
  decisions: readonly Decision[],
  open: readonly ToolUse[],
  messages: readonly Msg[],
): void {
  const undecided = new Map(open.map((call) => [call.id, call.name]));
  for (const { toolUseId: id, name } of decisions) {
    const isOfAnotherTool = name !== undefined && undecided.get(id) !== name;
    if (isOfAnotherTool || !undecided.delete(id)) {
      throw new AgentError(
        'INVALID_DECISION',
        `Tool call "${id}" is not open, belongs to another tool, or has two decisions.`,
      );
    }
  }
  const isResult = ({ type }: { readonly type: string }): boolean => type === 'tool_result';
  if (decisions.length && !messages.every(({ content }) => content.every(isResult))) {
    throw new AgentError('INVALID_DECISION', 'Send decisions without other input.');
  }
}
