import type { Msg } from '../message/msg.ts';
import { findCut } from './find-cut.ts';

export interface TrimOptions {
  /** Tokens the messages may have together. */
  readonly budget: number;
  /** Tokens of one message. */
  readonly count: (message: Msg) => number;
  /** Index of the current prompt, which always stays; -1: there is none. */
  readonly prompt: number;
  /**
   * What is cut is rounded up to a multiple of this many tokens, so that a growing history is cut
   * at the same place for many requests and the provider's prompt cache holds. Default 0: no more
   * than needed.
   */
  readonly step?: number;
  /**
   * True: exactly as Arc Reactor, where what is left may begin with an answer, and where even the
   * newest tool results may go, after which a model repeats the calls. Default false: history
   * begins with a user's message, and the newest group stays.
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
 * Arc Reactor's trimming: first the history before the current prompt goes, oldest first; if that
 * is not enough, what followed the prompt, oldest first. An assistant message with tool calls and
 * all its results are one group: they go or stay together.
 */
export function twoPhaseTrim(messages: readonly Msg[], options: TrimOptions): Trimmed {
  const sums = [0];
  for (const message of messages) sums.push(sums.at(-1)! + options.count(message));
  const before = sums.at(-1)!;
  const { history, held, turn } = findCut(messages, sums, options);
  if (!history && turn === held) return { messages, before, after: before };
  const after = before - sums[history]! - (sums[turn]! - sums[held]!);
  return { messages: [...messages.slice(history, held), ...messages.slice(turn)], before, after };
}
