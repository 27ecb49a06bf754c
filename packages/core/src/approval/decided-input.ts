import type { Middleware, OpenCall } from '../agent/middleware.ts';
import { AgentError } from '../error/agent-error.ts';
import type { ParsedInput } from '../event/agent-input.ts';
import { checkDecision, type Decision } from '../event/pending-call.ts';
import { toolResultsOf, toolUsesOf } from '../message/msg.ts';

/**
 * Adds decisions about the open tool calls to an input with new messages. Throws `INVALID_INPUT`
 * for an invalid one.
 */
export function addDecisions(decisions: readonly Decision[]): Middleware {
  decisions.forEach((item, index) => checkDecision(item, `Item ${index} of \`decisions\``));
  return {
    wrapInput: (input, next) => {
      const hasMessages = input.messages.some(({ role }) => role !== 'tool');
      if (!hasMessages) return next(input);
      return next({ ...input, decisions: [...input.decisions, ...decisions] });
    },
  };
}

/**
 * Returns the input with all its decisions. A tool result in the messages counts as a decision,
 * unless the messages contain its tool call. Throws `INVALID_DECISION` if a decision does not match
 * an open tool call, or if two decisions are for the same one. Also throws if tool results come
 * with other messages.
 */
export function decidedInput(input: ParsedInput, openCalls: readonly OpenCall[]): ParsedInput {
  const { messages } = input;
  const callIds = new Set(messages.flatMap(toolUsesOf).map(({ id }) => id));
  const results = messages
    .flatMap(toolResultsOf)
    .filter(({ toolUseId }) => !callIds.has(toolUseId));
  const resultDecisions = results.map(
    (result) => ({ ...result, name: result.name || undefined, type: 'result' }) as Decision,
  );
  const decisions = [...input.decisions, ...resultDecisions];
  checkDecisions(decisions, openCalls);
  if (!resultDecisions.length) return input;
  const isResult = ({ type }: { readonly type: string }): boolean => type === 'tool_result';
  if (!messages.every(({ content }) => content.every(isResult)))
    throw new AgentError(
      'INVALID_DECISION',
      'The input has results of tool calls beside other content. Pass them as `call(message, { decisions })`.',
    );
  return { ...input, messages: [], decisions };
}

function checkDecisions(decisions: readonly Decision[], openCalls: readonly OpenCall[]): void {
  const undecidedCalls = new Map(openCalls.map(({ toolUse }) => [toolUse.id, toolUse.name]));
  for (const { toolUseId: id, name } of decisions) {
    const isOfAnotherTool = name !== undefined && undecidedCalls.get(id) !== name;
    if (!isOfAnotherTool && undecidedCalls.delete(id)) continue;
    const message = `Tool call "${id}" is not open, belongs to another tool, or has two decisions.`;
    throw new AgentError('INVALID_DECISION', message);
  }
}
