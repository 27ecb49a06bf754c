import type { Middleware, OpenCall, SettledInput } from '../../agent/middleware.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { Decision } from '../../event/pending-call.ts';
import { toolResultsOf, toolUsesOf } from '../../message/message-text.ts';

/** Adds decisions about the open tool calls to an input with new messages. */
export function decideBeside(decisions: readonly Decision[]): Middleware {
  return {
    wrapInput: (next) => (input, context) => {
      const isNew = input.messages.some(({ role }) => role !== 'tool');
      const all = isNew ? { ...input, decisions: [...input.decisions, ...decisions] } : input;
      return next(all, context);
    },
  };
}

/**
 * Returns the input with all its decisions. A tool result in the messages counts as a decision
 * (AgentScope: resume with tool results), unless the messages contain its tool call. Throws
 * `INVALID_DECISION` if a decision does not match an open tool call, or if two decisions are for the
 * same one. Also throws if tool results come with other messages.
 */
export function decidedInput(input: SettledInput, open: readonly OpenCall[]): SettledInput {
  const { messages } = input;
  const own = new Set(messages.flatMap(toolUsesOf).map(({ id }) => id));
  const results = messages.flatMap(toolResultsOf).filter(({ toolUseId }) => !own.has(toolUseId));
  const given = results.map(
    (result) => ({ ...result, name: result.name || undefined, type: 'result' }) as Decision,
  );
  const decisions = [...input.decisions, ...given];
  checkDecisions(decisions, open);
  if (!given.length) return input;
  const isResult = ({ type }: { readonly type: string }): boolean => type === 'tool_result';
  if (!messages.every(({ content }) => content.every(isResult)))
    throw new AgentError('INVALID_DECISION', 'Send decisions without other input.');
  return { ...input, messages: [], decisions };
}

function checkDecisions(decisions: readonly Decision[], open: readonly OpenCall[]): void {
  const undecided = new Map(open.map(({ toolUse }) => [toolUse.id, toolUse.name]));
  for (const { toolUseId: id, name } of decisions) {
    const isOfAnotherTool = name !== undefined && undecided.get(id) !== name;
    if (!isOfAnotherTool && undecided.delete(id)) continue;
    const message = `Tool call "${id}" is not open, belongs to another tool, or has two decisions.`;
    throw new AgentError('INVALID_DECISION', message);
  }
}
