import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';

export interface TrimOptions {
  /** Tokens the messages may have together. */
  readonly budget: number;
  /** Tokens of one message. */
  readonly count: (message: Msg) => number;
  /** Index of the current prompt, which always stays; -1: there is none. */
  readonly prompt: number;
  /**
   * What is cut is rounded up to a multiple of this many tokens, so that a growing history is cut at the same place for many
   * requests and the provider's prompt cache holds. Default 0: no more than needed.
   */
  readonly step?: number;
  /**
   * True: exactly as Arc Reactor, where what is left may begin with an answer, and where even the newest tool results may go,
   * after which a model repeats the calls. Default false: history begins with a user's message, and the newest group stays.
   */
  readonly reference?: boolean;
}

export interface Trimmed {
  /** The very same array when nothing was cut. */
  readonly messages: readonly Msg[];
  /** Tokens. */
  readonly before: number;
  readonly after: number;
}

/**
 * Arc Reactor's trimming: first the history before the current prompt goes, oldest first; if that is not enough, what followed
 * the prompt, oldest first. An assistant message with tool calls and all its results are one group: they go or stay together.
 */
export function twoPhaseTrim(messages: readonly Msg[], options: TrimOptions): Trimmed {
  const { budget, count, prompt, step = 0, reference = false } = options;
  const before = sumOf(messages, count);
  if (before <= budget) return { messages, before, after: before };

  const excess = before - budget;
  const target = before - (step > 0 ? Math.ceil(excess / step) * step : excess);
  const cost = (from: number, to: number): number => sumOf(messages.slice(from, to), count);
  const needsUser = (message: Msg | undefined): boolean => !reference && message?.role !== 'user';
  let after = before;

  let history = 0;
  while (history < prompt && (after > target || needsUser(messages[history]))) {
    const end = groupEnd(messages, history);
    if (end > prompt) break;
    after -= cost(history, end);
    history = end;
  }

  let turn = prompt + 1;
  const onlyPrompt = reference && budget <= 0 && prompt >= 0;
  const last = onlyPrompt ? messages.length : messages.length - 1;
  const limit = after > budget ? target : budget;
  while (turn < last && after > limit) {
    const end = groupEnd(messages, turn);
    if (!reference && end === messages.length) break;
    after -= cost(turn, end);
    turn = end;
  }
  return { messages: [...messages.slice(history, prompt + 1), ...messages.slice(turn)], before, after };
}

/** Where the group that begins at `start` ends. */
function groupEnd(messages: readonly Msg[], start: number): number {
  const first = messages[start];
  let end = start + 1;
  if (first?.role !== 'assistant' || toolUsesOf(first).length === 0) return end;
  while (messages[end]?.role === 'tool') end++;
  return end;
}

function sumOf(messages: readonly Msg[], count: (message: Msg) => number): number {
  return messages.reduce((sum, message) => sum + count(message), 0);
}
