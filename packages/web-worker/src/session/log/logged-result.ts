import {
  assistantMessage,
  textOf,
  toolUsesOf,
  type AgentError,
  type AgentResult,
  type Msg,
  type StopReason,
} from '@isoloop/core';
import { incompleteReason, noUsage } from '@isoloop/core/model';
import { metadataOf } from '@isoloop/core/message';
import type { SessionView } from '@isoloop/core/log';

/** Returns the result of the last run, with the data that the log has. */
export function lastResult(
  { messages, calls, endReason = 'stop' }: Pick<SessionView, 'messages' | 'calls' | 'endReason'>,
  sessionVersion = 0,
): AgentResult {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const message = turn.findLast(({ role }) => role === 'assistant') ?? assistantMessage([]);
  return {
    ...emptyResult(message, endReason as StopReason),
    toolsUsed: [...new Set(turn.flatMap(toolUsesOf).map(({ name }) => name))],
    pending: [...calls.values()].flatMap(({ pending }) => pending ?? []),
    sessionVersion,
  };
}

/**
 * Returns the result of an earlier run, with the data that the log has. `answerId`: id of the
 * answer's message.
 */
export function earlierResult(
  { messages }: SessionView,
  answerId: string,
  sessionVersion = 0,
): AgentResult {
  const end = messages.findIndex(({ id }) => id === answerId) + 1;
  const { partial, reason } = metadataOf(messages[end - 1] ?? {});
  const endReason = reason ?? (partial === undefined ? 'stop' : 'aborted');
  const view = { messages: messages.slice(0, end), calls: new Map(), endReason };
  return lastResult(view, sessionVersion);
}

/** Returns the result of an interrupted run that no tab continues. */
export function suspendedResult(error: AgentError): AgentResult {
  return { ...emptyResult(assistantMessage([]), 'suspended'), error: error.toJSON() };
}

function emptyResult(message: Msg, reason: StopReason): Omit<AgentResult, 'error'> {
  const text = textOf(message);
  const incomplete = incompleteReason(message);
  return {
    text,
    message,
    reason,
    ...(incomplete && { incomplete }),
    usage: noUsage,
    toolsUsed: [],
    durationMs: 0,
    iterations: 0,
    pending: [],
    sessionVersion: 0,
  };
}
