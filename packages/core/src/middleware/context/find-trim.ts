import { isResult } from '../../message/message-text.ts';
import { isOwn } from '../../message/metadata-keys.ts';
import type { Msg } from '../../message/msg.ts';

export interface TrimOptions {
  /** Maximum number of tokens of all messages together. */
  readonly budget: number;
  /** Index of the current prompt, which always stays, or `start - 1` without a prompt. */
  readonly prompt: number;
  /** See `FitContextOptions`. Default 0: no rounding. */
  readonly step?: number;
  /** See `FitContextOptions`. Default false. */
  readonly reference?: boolean;
  /** Index of the conversation's first message. Default 0. */
  readonly start?: number;
}

/**
 * The messages that stay: those from index `history` to the one before `promptEnd`, and those from index
 * `turn` to the end. The first range ends with the current prompt and its tool results.
 */
export interface Trim {
  readonly history: number;
  readonly promptEnd: number;
  readonly turn: number;
}

/**
 * Finds the messages to leave out, as Arc Reactor does: first those before the current prompt,
 * oldest first. If that is not enough, then those after the prompt, oldest first. All messages of a group stay, or none. `sums[i]` is the number of tokens of the first `i`
 * messages. The search is binary, so a long history costs little more than a short one.
 */
export function findTrim(
  messages: readonly Msg[],
  sums: readonly number[],
  options: TrimOptions,
): Trim {
  const { budget, prompt, step = 0, reference = false, start = 0 } = options;
  const total = sums[messages.length]! - sums[start]!;
  const promptEnd = afterPrompt(messages, options);
  const excess = total - budget;
  if (excess <= 0) return { history: start, promptEnd, turn: promptEnd };
  const wanted = step > 0 ? Math.ceil(excess / step) * step : excess;
  const history = trimHistory(messages, sums, options, wanted);
  const gone = sums[history]! - sums[start]!;
  const missing = (gone < excess ? wanted : excess) - gone;
  const last = lastTrim(messages, promptEnd, {
    reference,
    keepNone: reference && budget <= 0 && prompt >= start,
  });
  const trimsTurn = missing > 0 && promptEnd < last;
  const turn = trimsTurn
    ? skip(messages, sums, { from: promptEnd, to: last, tokens: missing })
    : promptEnd;
  return { history, promptEnd, turn };
}

/** Returns the index after the prompt. Tool results in the prompt's group stay with the prompt. */
function afterPrompt(
  messages: readonly Msg[],
  { prompt, reference = false, start = 0 }: TrimOptions,
): number {
  let end = Math.max(prompt + 1, start);
  if (reference || end === start) return end;
  while (end < messages.length && isResult(messages[end]!)) end++;
  return end;
}

/**
 * Returns the first message that stays of those before the prompt. At least `tokens` tokens are left
 * out, if there are as many. What stays begins with a user message.
 */
function trimHistory(
  messages: readonly Msg[],
  sums: readonly number[],
  { prompt, reference = false, start = 0 }: TrimOptions,
  tokens: number,
): number {
  if (prompt <= start) return start;
  let first = skip(messages, sums, { from: start, to: prompt, tokens });
  while (!reference && first < prompt && messages[first]!.role !== 'user') {
    const next = groupEnd(messages, first);
    if (next > prompt) break;
    first = next;
  }
  return first;
}

/** Returns the last index up to which the turn may be trimmed. The newest group always stays. */
function lastTrim(
  messages: readonly Msg[],
  from: number,
  { reference, keepNone }: { reference: boolean; keepNone: boolean },
): number {
  const { length } = messages;
  if (keepNone) return length;
  let last = length - 1;
  // A hint about the newest tool results stays together with them.
  while (!reference && last > from && isOwn(messages[last]!)) last--;
  const start = groupStart(messages, last, from);
  // Arc Reactor keeps the newest group only if the group is a single message.
  return reference && start < length - 1 ? length : start;
}

/**
 * Returns the index at which to go on: the first end of a group at which at least `tokens` tokens after
 * `from` are left out. If `to` comes first, returns the last end of a group up to `to`.
 */
function skip(
  messages: readonly Msg[],
  sums: readonly number[],
  { from, to, tokens }: { from: number; to: number; tokens: number },
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! - sums[from]! >= tokens) high = middle;
    else low = middle + 1;
  }
  const start = groupStart(messages, low, from);
  if (start === low) return low;
  const end = groupEnd(messages, start);
  return end > to ? start : end;
}

/**
 * Returns the start and the end of the group that contains the message at `index`. A group is a
 * message, with the tool results of its calls.
 */
export function groupOf(
  messages: readonly Msg[],
  index: number,
  from: number,
): readonly [start: number, end: number] {
  const start = groupStart(messages, index, from);
  return [start, groupEnd(messages, start)];
}

/**
 * Returns the start of the group that contains the message at `index`. A result without its tool
 * call is a group of its own.
 */
function groupStart(messages: readonly Msg[], index: number, from: number): number {
  let start = index;
  while (start > from && start < messages.length && isResult(messages[start]!)) start--;
  return start < index && groupEnd(messages, start) <= index ? index : start;
}

/** Returns the end of the group that starts at `start`: the index after its last message. */
function groupEnd(messages: readonly Msg[], start: number): number {
  let end = start + 1;
  if (!messages[start]!.content.some(({ type }) => type === 'tool_use')) return end;
  while (end < messages.length && isResult(messages[end]!)) end++;
  return end;
}
