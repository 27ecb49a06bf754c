import { AgentError } from '../error/agent-error.ts';
import type { ContentBlock } from '../message/content-block.ts';
import type { Msg } from '../message/msg.ts';
import { arc } from '../tokens/arc-profile.ts';
import type { ContextPolicy } from './context-policy.ts';
import { requestCounter } from './request-counter.ts';
import { headOf } from './request-head.ts';
import { answerOf, isAnswered, turnsOf } from './turns.ts';

type Turn = readonly Msg[];

/**
 * Leaves out the turns of earlier calls that did not end with an answer: failed, aborted, interrupted, or stopped at a tool call
 * (Arc Reactor keeps successful runs alone). What a guard refuses is in no history.
 */
export function successfulTurns(): ContextPolicy {
  return turnView((turns) => turns.filter(isAnswered));
}

/** Shows the last `count` turns before the current one (Arc Reactor: `maxConversationTurns`, 10). `CONFIGURATION` for no count. */
export function lastTurns(count: number): ContextPolicy {
  if (!Number.isInteger(count) || count < 0) throw new AgentError('CONFIGURATION', `lastTurns(): ${count} is no number of turns.`);
  return turnView((turns) => (count ? turns.slice(-count) : []));
}

/** Shows of earlier turns what was asked and the text of the last iteration, without tools and thinking (Arc Reactor's history). */
export function answersOnly(): ContextPolicy {
  const parts = new WeakMap<Msg, Msg>();
  const partOf = (message: Msg, isShown: (block: ContentBlock) => boolean): readonly Msg[] => {
    const content = message.content.filter(isShown);
    if (!content.length) return [];
    if (content.length === message.content.length) return [message];
    // The same object each time: counts and the wire form are cached on it.
    if (!parts.has(message)) parts.set(message, { ...message, content });
    return [parts.get(message)!];
  };
  return turnView((turns) =>
    turns.map((turn) => {
      const answer = answerOf(turn);
      return turn.flatMap((message) => {
        if (message === answer) return partOf(answer, ({ type }) => type === 'text');
        if (message.metadata?.['correction']) return [];
        // A user's message may bring results, whose calls are not shown.
        if (message.role === 'user') return partOf(message, ({ type }) => type !== 'tool_result');
        return message.role === 'system' ? [message] : [];
      });
    }),
  );
}

interface Split {
  readonly promptId: string | undefined;
  /** What came before the current turn, and what of it is shown: the same list where that is all. */
  readonly past: Turn;
  readonly shown: Turn;
}

/** A policy over the turns of earlier calls. What stands before the history, and the current turn, stay whole. */
function turnView(view: (turns: readonly Turn[]) => readonly Turn[]): ContextPolicy {
  const countGiven = requestCounter(arc);
  const countShown = requestCounter(arc);
  let last: Split | undefined;

  // While a call goes on, what came before it stays as it is.
  const split = (messages: Turn, start: number, promptId: string | undefined): Split => {
    if (promptId !== undefined && last?.promptId === promptId && standsAt(messages, start, last.past)) return last;
    const turns = turnsOf(messages.slice(start));
    const current = turns.findLastIndex((turn) => turn.some(({ id }) => id === promptId));
    const earlier = turns.slice(0, current < 0 ? -1 : current);
    const past = earlier.flat();
    const shown = view(earlier).flat();
    return (last = { promptId, past, shown: shown.length === past.length && standsAt(past, 0, shown) ? past : shown });
  };

  return (request) => {
    const { messages, promptId } = request;
    const start = headOf(request);
    const { past, shown } = split(messages, start, promptId);
    const before = countGiven(request);
    if (shown === past) return { messages, removed: 0, before, after: before };
    const fitted = [...messages.slice(0, start), ...shown, ...messages.slice(start + past.length)];
    return { messages: fitted, removed: past.length - shown.length, before, after: countShown({ ...request, messages: fitted }) };
  };
}

function standsAt(messages: Turn, start: number, part: Turn): boolean {
  for (let i = 0; i < part.length; i++) if (messages[start + i] !== part[i]) return false;
  return true;
}
