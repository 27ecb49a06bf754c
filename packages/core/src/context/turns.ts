import type { Msg } from '../message/msg.ts';
import { toolUsesOf } from '../message/message-text.ts';
import { isResult } from './find-cut.ts';

/**
 * The turns of a conversation: what a user said, and all that came of it. A run marks what it is
 * told with `metadata.runId`, so what was injected into it, or given by a hook, is its turn's, and
 * the same question asked again after a failure begins another. In a log without the mark a turn
 * begins with a user's message behind others. What was observed belongs to the turn after it,
 * results of tools to the turn of their calls, also where a user's message brings them.
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
      // A run that goes on for another one may correct, too.
      const goesOn = metadata?.['correction'] || (run === undefined ? isOpening : runId === run);
      if (!goesOn) starts.push(index);
      run = runId;
      isOpening = true;
    } else if (role !== 'system') isOpening = false;
  }
  return starts.map((start, index) => messages.slice(start, starts[index + 1]));
}

/**
 * Whether a turn ended with an answer: not failed, aborted, interrupted, stopped at a tool call or
 * left waiting.
 */
export function isAnswered(turn: readonly Msg[]): boolean {
  const answer = answerOf(turn);
  const { partial, reason } = answer?.metadata ?? {};
  return answer !== undefined && !partial && reason !== 'interrupted' && reason !== 'error';
}

/**
 * Where the steps of a turn begin, behind its question: a reply that was empty has left its
 * correction alone.
 */
export function stepsStart(turn: readonly Msg[]): number {
  const first = turn.findIndex(
    ({ role, metadata }) => role === 'assistant' || role === 'tool' || metadata?.['correction'],
  );
  return first < 0 ? turn.length : first;
}

/** The last iteration's message, where it calls no tool and was taken for an answer. */
export function answerOf(turn: readonly Msg[]): Msg | undefined {
  const last = turn.findLast(({ role }) => role === 'assistant' || role === 'tool');
  return last?.role === 'assistant' && !toolUsesOf(last).length && !last.metadata?.['correction']
    ? last
    : undefined;
}
