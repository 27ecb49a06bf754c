import type { Msg } from '../message/msg.ts';
import { findCut } from './find-cut.ts';

export interface TrimOptions {
  /** Tokens the messages may have together. */
  readonly budget: number;
  /** Tokens of one message. */
  readonly count: (message: Msg) => number;
  /** Index of the current prompt, which always stays; -1 if there is none. */
  readonly prompt: number;
  /**
   * Cuts are rounded up to a multiple of this many tokens. A growing history is then cut at the
   * same place for many requests, so the provider's prompt cache holds. Default 0: no more than
   * needed.
   */
  readonly step?: number;
  /**
   * True: exactly as Arc Reactor. The rest may then begin with an answer. Even the newest tool
   * results may go, after which a model repeats the calls. Default false: the history begins with a
   * user's message, and the newest group stays.
   */
  readonly reference?: boolean;
}

export interface Trimmed {
  /** The same array if nothing was cut. */
  readonly messages: readonly Msg[];
  /** Tokens of all messages; `after` counts the kept ones. */
  readonly before: number;
  readonly after: number;
}

/**
 * Trims messages as Arc Reactor does. Drops the history before the current prompt first, oldest
 * first. If that is not enough, drops the messages after the prompt, oldest first. An assistant
 * message with tool calls and all its results are one group: they go or stay together.
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
