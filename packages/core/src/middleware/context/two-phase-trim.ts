import { checkOptions } from '../../error/check-fields.ts';
import type { Msg } from '../../message/msg.ts';
import { findCut } from './find-cut.ts';

export interface TrimOptions {
  /** Maximum number of tokens of all messages together. */
  readonly budget: number;
  /** Returns the number of tokens of one message. */
  readonly count: (message: Msg) => number;
  /** Index of the current prompt, which always stays, or -1 without a prompt. */
  readonly prompt: number;
  /**
   * Step of the cuts, in tokens: the number of tokens left out is rounded up to a multiple of this
   * number. A growing history is then cut at the same place for many requests, and the provider's
   * prompt cache stays valid. Default 0: no rounding.
   */
  readonly step?: number;
  /**
   * True: cuts exactly as Arc Reactor does. The remaining history may then begin with an answer.
   * Even the newest tool results may be left out; the model then repeats the tool calls. Default
   * false: the history begins with a user's message, and the newest group stays.
   */
  readonly reference?: boolean;
}

export interface Trimmed {
  /** The same array if nothing was cut. */
  readonly messages: readonly Msg[];
  /** Number of tokens before the cut. `after` is the number of tokens that stay. */
  readonly before: number;
  readonly after: number;
}

/**
 * Trims messages as Arc Reactor does. The first phase leaves out messages before the current
 * prompt, oldest first. The second phase leaves out messages after the prompt, oldest first, if the
 * first phase is not enough. An assistant message with tool calls and its results form a group: all
 * of them stay, or none.
 */
export function twoPhaseTrim(messages: readonly Msg[], options: TrimOptions): Trimmed {
  const fields = 'budget,prompt:number count:function step:count|? reference:boolean|?';
  checkOptions('INVALID_INPUT', 'twoPhaseTrim()', options, fields);
  const sums = [0];
  for (const message of messages) sums.push(sums.at(-1)! + options.count(message));
  const before = sums.at(-1)!;
  const { history, held, turn } = findCut(messages, sums, options);
  if (!history && turn === held) return { messages, before, after: before };
  const after = before - sums[history]! - (sums[turn]! - sums[held]!);
  return { messages: [...messages.slice(history, held), ...messages.slice(turn)], before, after };
}
