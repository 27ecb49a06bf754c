import { checkNoOptions } from '../error/options/check-options.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { whole } from '../error/options/kinds.ts';
import { isCorrection } from '../message/metadata.ts';
import { contextPolicy, headEnd, type ContextMiddleware } from './context-policy.ts';
import { answerOf, isAnswered, turnsOf } from '../message/conversation/turns.ts';
import type { ContentBlock, Msg } from '../message/msg.ts';
import { memoize } from '../model/formatter/formatter.ts';
import { arc } from '../tokens/arc-profile.ts';
import { countMessage } from '../tokens/count-message.ts';
import { requestCounter } from './request-meter.ts';

/**
 * Hides from the model the turns of earlier agent calls that did not end with an answer. Such a
 * turn failed, was aborted or interrupted, or stopped at a tool call. Input that a guard rejects is
 * never part of the history. Source: Arc Reactor.
 */
export function successfulTurns(): ContextMiddleware;
export function successfulTurns(...args: readonly unknown[]): ContextMiddleware {
  checkNoOptions('successfulTurns()', args, 'For a rule of your own, use contextPolicy().');
  return turnView('successfulTurns', (turns) => turns.filter(isAnswered));
}

/**
 * Shows the model only the last `count` turns before the current one. Throws `CONFIGURATION` unless
 * `count` is a whole number of 0 or more. Sources: Arc Reactor, `maxConversationTurns`;
 * OxyGent, `short_memory_size`.
 */
export function lastTurns(count: number): ContextMiddleware {
  checkFields('lastTurns()', { count }, { count: whole });
  return turnView('lastTurns', (turns) => (count ? turns.slice(-count) : []));
}

/**
 * Shows the model only the question and the answer text of each earlier turn. Leaves out tool
 * calls, tool results and thinking. Sources: Arc Reactor; OxyGent, `is_discard_react_memory`.
 */
export function answersOnly(): ContextMiddleware;
export function answersOnly(...args: readonly unknown[]): ContextMiddleware {
  checkNoOptions('answersOnly()', args, 'For a rule of your own, use contextPolicy().');
  const withTextOnly = blockFilter(isText);
  const withoutResults = blockFilter(({ type }) => type !== 'tool_result');
  return turnView('answersOnly', (turns) =>
    turns.map((turn) => {
      const answer = answerOf(turn);
      return turn.flatMap((message) => {
        if (message === answer) return withTextOnly(answer);
        if (isCorrection(message)) return [];
        // A user's message may hold tool results. Their tool calls are not shown, so the results
        // are left out too.
        if (message.role === 'user') return withoutResults(message);
        return message.role === 'system' ? [message] : [];
      });
    }),
  );
}

/** A question and what follows it, up to the next question. */
export type Turn = readonly Msg[];

/** The messages before the current turn of an agent call, and those of them in its requests. */
interface Split {
  readonly questionId: string | undefined;
  readonly past: Turn;
  /** `past` itself if all of its messages stay. */
  readonly pastView: Turn;
  /** Estimated tokens of the messages that are left out. */
  readonly savedTokens: number;
}

/**
 * Makes a policy that changes the turns of earlier agent calls. The messages before the
 * conversation and the current turn stay whole.
 */
export function turnView(
  name: string,
  view: (turns: readonly Turn[]) => readonly Turn[],
): ContextMiddleware {
  const count = requestCounter(arc);
  let split: Split | undefined;
  return contextPolicy({
    name,
    fit(request) {
      const { messages, questionId } = request;
      const start = headEnd(request);
      const tokens = count(request);
      // Earlier messages do not change during an agent call, so the split of its first request is
      // reused.
      const isKnown = questionId !== undefined && split?.questionId === questionId;
      if (!isKnown || !hasAt(messages, start, split!.past))
        split = splitTurns(messages.slice(start), questionId, view);
      const { past, pastView, savedTokens } = split!;
      if (pastView === past) return { messages, removed: 0, before: tokens, after: tokens };
      const rest = messages.slice(start + past.length);
      const fitted = [...messages.slice(0, start), ...pastView, ...rest];
      const removedCount = past.length - pastView.length;
      return {
        messages: fitted,
        removed: removedCount,
        before: tokens,
        after: tokens - savedTokens,
      };
    },
  });
}

function splitTurns(
  messages: Turn,
  questionId: string | undefined,
  view: (turns: readonly Turn[]) => readonly Turn[],
): Split {
  const turns = turnsOf(messages);
  const currentIndex = turns.findLastIndex((turn) => turn.some(({ id }) => id === questionId));
  const earlierTurns = turns.slice(0, currentIndex < 0 ? -1 : currentIndex);
  const past = earlierTurns.flat();
  const pastView = view(earlierTurns).flat();
  const isWhole = pastView.length === past.length && hasAt(past, 0, pastView);
  const savedTokens = tokensOf(past) - tokensOf(pastView);
  return { questionId, past, pastView: isWhole ? past : pastView, savedTokens };
}

function tokensOf(messages: Turn): number {
  return messages.reduce((sum, message) => sum + countMessage(message, arc), 0);
}

/**
 * Makes a function that returns a message with only the blocks for which `isShown` is true. It
 * returns an empty list if there is no such block. Equal calls return the same object, because the
 * token count and the JSON for the provider are cached on it.
 */
function blockFilter(isShown: (block: ContentBlock) => boolean): (message: Msg) => readonly Msg[] {
  return memoize((message: Msg) => {
    const content = message.content.filter(isShown);
    if (!content.length) return [];
    return [content.length === message.content.length ? message : { ...message, content }];
  });
}

function isText({ type }: ContentBlock): boolean {
  return type === 'text';
}

function hasAt(messages: Turn, start: number, part: Turn): boolean {
  return part.every((message, index) => messages[start + index] === message);
}
