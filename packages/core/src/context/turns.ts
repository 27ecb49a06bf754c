import type { Msg } from '../message/msg.ts';
import { toolUsesOf } from '../message/message-text.ts';
import { isResult } from './find-cut.ts';

/**
 * Splits a conversation into turns. A turn is what a user said and all that came of it. A run marks
 * its input with `metadata.runId`, so messages injected into it or added by a hook belong to its
 * turn. The same question asked again after a failure begins another turn. In a log without the
 * mark, a turn begins with a user's message after messages of other roles. Observed messages belong
 * to the turn after them. Tool results belong to the turn of their calls, even in a user's message.
 */
export function turnsOf(messages: readonly Msg[]): readonly (readonly Msg[])[] {
  const starts: number[] = messages.length ? [0] : [];
  let run: unknown;
  let isOpening = true;
  for (const [index, message] of messages.entries()) {
    const { role, metadata } = message;
    const runId = metadata?.['runId'];
    if (isResult(message)) {
      run = runId ?? run;
      isOpening = false;
    } else if (role === 'user') {
      // A run that continues another one may correct, too.
      const goesOn = metadata?.['correction'] || (run === undefined ? isOpening : runId === run);
      if (!goesOn) starts.push(index);
      run = runId;
      isOpening = true;
    } else if (role !== 'system') isOpening = false;
  }
  return starts.map((start, index) => messages.slice(start, starts[index + 1]));
}

/**
 * Returns whether a turn ended with an answer. A turn may also fail, be aborted or interrupted,
 * stop at a tool call or wait.
 */
export function isAnswered(turn: readonly Msg[]): boolean {
  const answer = answerOf(turn);
  const { partial, reason } = answer?.metadata ?? {};
  return answer !== undefined && !partial && reason !== 'interrupted' && reason !== 'error';
}

/**
 * Returns the index of a turn's first step, after its question. An empty reply leaves only its
 * correction, so a correction also begins a step.
 */
export function stepsStart(turn: readonly Msg[]): number {
  const first = turn.findIndex(
    ({ role, metadata }) => role === 'assistant' || role === 'tool' || metadata?.['correction'],
  );
  return first < 0 ? turn.length : first;
}

/** Returns the last iteration's message if it calls no tool and was accepted as an answer. */
export function answerOf(turn: readonly Msg[]): Msg | undefined {
  const last = turn.findLast(({ role }) => role === 'assistant' || role === 'tool');
  return last?.role === 'assistant' && !toolUsesOf(last).length && !last.metadata?.['correction']
    ? last
    : undefined;
}
