import type { Agent } from '../agent/agent.ts';
import type { Decision } from '../event/pending-call.ts';
import { resumptionOf } from '../memory/log/resumption.ts';
import { logMemoryOf, type Memory } from '../memory/memory.ts';
import { toolResultsOf, toolUsesOf, type Msg } from '../message/msg.ts';
import { isQuestion } from '../message/conversation/turns.ts';
import { runsHere } from './client-decisions.ts';
import { lastRun, pendingCallsOf } from './stored-view.ts';

/**
 * Opens tool calls of the client again if the turn that brought their results failed. The client
 * then sends the results again. Does nothing if the turn has an answer.
 */
export async function reopenCalls(
  { memory, tools }: Pick<Agent, 'memory' | 'tools'>,
  decisions: readonly Decision[],
): Promise<void> {
  const ids = new Set(decisions.map(({ toolUseId }) => toolUseId));
  const storedMessages = await memory.read();
  const callsAt = storedMessages.findLastIndex((message) =>
    toolUsesOf(message).some(({ id }) => ids.has(id)),
  );
  const laterMessages = storedMessages.slice(callsAt + 1);
  const isOfTurn = (message: Msg): boolean =>
    message.role !== 'tool' || toolResultsOf(message).some(({ toolUseId }) => ids.has(toolUseId));
  const turnMessages = laterMessages.filter(isOfTurn);
  if (
    callsAt < 0 ||
    !turnMessages.length ||
    laterMessages.some(isQuestion) ||
    (await hasAnswer(memory, laterMessages))
  )
    return;
  const calls = toolUsesOf(storedMessages[callsAt]!).filter(({ id }) => ids.has(id));
  if (calls.length < ids.size || calls.some(({ name }) => runsHere(tools.find(name)))) return;
  await memory.delete(turnMessages.map(({ id }) => id));
  const pendingCalls = calls.map(({ id: toolUseId, name, input }) => ({
    pending: { toolUseId, name, input, kind: 'external' } as const,
  }));
  await logMemoryOf(memory)?.note([{ kind: 'suspended', calls: pendingCalls }]);
}

/**
 * Returns whether a client may have the answer to one of these messages, or gets it later because
 * a run has not ended.
 */
export async function hasAnswer(memory: Memory, messages: readonly Msg[]): Promise<boolean> {
  const { openRunId, endReason } = await lastRun(memory);
  if (openRunId !== undefined && endReason === undefined) return true;
  const pendingCalls = (await pendingCallsOf({ memory })).filter(({ kind }) => kind === 'external');
  const ids = new Set(pendingCalls.map(({ toolUseId }) => toolUseId));
  if (messages.flatMap(toolUsesOf).some(({ id }) => ids.has(id))) return true;
  return splitAtQuestions(messages).some(
    (turn) => resumptionOf({ messages: turn, openRunId: undefined }).type === 'nothing',
  );
}

/** Splits messages into lists that begin with a question. */
function splitAtQuestions(messages: readonly Msg[]): readonly (readonly Msg[])[] {
  const starts = messages.flatMap((message, index) =>
    index === 0 || isQuestion(message) ? [index] : [],
  );
  return starts.map((start, index) => messages.slice(start, starts[index + 1]));
}
