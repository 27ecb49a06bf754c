import { checkOptions } from '../error/options/check-options.ts';
import { nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import {
  contextPolicy,
  type ContextMiddleware,
  type ContextRequest,
  type FittedContext,
} from './context-policy.ts';
import {
  requestMeter,
  windowOptions,
  type RequestSize,
  type RequestMeter,
  type WindowOptions,
} from './request-meter.ts';
import { hasToolResults, type Msg } from '../message/msg.ts';
import { isFromProgram } from '../message/metadata.ts';

/** How large a request of `fitContext()` may be, and what stays in it. */
export interface FitContextOptions extends WindowOptions {
  /**
   * Unit of trimming, in tokens: the number of tokens left out is rounded up to a multiple of it.
   * The trimmed history then begins at the same place for many requests. Default: a tenth of the
   * window.
   */
  readonly roundTo?: number;
}

/**
 * Leaves out old messages so that a request fits in the model's window. The oldest messages before
 * the current question go first, then the oldest steps after it. A tool call and its results are
 * left out together. The system prompt, recalled messages, the current question and the newest tool
 * results always stay. If these alone are too long, the model's server has to reject the request.
 * Each message is counted once, so a request costs only the count of its new messages.
 *
 * Throws `CONFIGURATION` for an option of the wrong kind, a number below 0, or a window that is not
 * larger than `reserveOutput`.
 */
export function fitContext(options: FitContextOptions = {}): ContextMiddleware {
  return trimContext('fitContext()', options, defaultRules);
}

/**
 * Makes middleware that trims as `fitContext()` does, with rules of your own. `where`: name of your
 * function, for errors. Throws `CONFIGURATION` as `fitContext()` does.
 */
export function trimContext(
  where: string,
  options: FitContextOptions,
  rules: TrimRules,
): ContextMiddleware {
  checkOptions(where, options, fitContextOptions);
  const meter = requestMeter(where, options);
  return contextPolicy({
    name: 'fitContext',
    fit: (request) => trimRequest(request, meter, { ...options, rules }),
  });
}

const fitContextOptions: OptionTable<FitContextOptions> = {
  roundTo: optional(nonNegative),
  ...windowOptions,
};

/** Which messages are left out together, and which ones always stay. */
export interface TrimRules {
  /** Whether the tool results right after the question stay with it. */
  readonly keepsResultsWithQuestion: boolean;
  /** Whether the remaining history begins with a user's message. */
  readonly beginsWithUser: boolean;
  /** Returns the index after the last message that may go when trimming after the question. */
  trimEnd(turn: TurnToTrim): number;
  /** Returns tokens of the request that the counts of its parts lack. Default: none. */
  missingTokens?(request: ContextRequest): number;
}

/** The messages after the current question, when a policy trims them. */
interface TurnToTrim {
  /** All messages of the request. */
  readonly messages: readonly Msg[];
  /** Index of the first message after the question. */
  readonly from: number;
  readonly hasQuestion: boolean;
  /** Maximum number of tokens of the conversation. Below 0 if the fixed parts are too long. */
  readonly budget: number;
  /** Returns the index at which the group of a message begins: a tool call and its results. */
  startOfGroup(index: number): number;
}

const defaultRules: TrimRules = {
  keepsResultsWithQuestion: true,
  beginsWithUser: true,
  // The newest group always stays.
  trimEnd({ messages, from, startOfGroup }) {
    let last = messages.length - 1;
    // A hint about the newest tool results stays together with them.
    while (last > from && isFromProgram(messages[last]!)) last--;
    return startOfGroup(last);
  },
};

/** Returns the request without the messages that do not fit in the window. */
export function trimRequest(
  request: ContextRequest,
  meter: RequestMeter,
  options: Pick<FitContextOptions, 'roundTo'> & Pick<TrimOptions, 'rules'> = {},
): FittedContext {
  const { messages } = request;
  const measurement = meter(request);
  const missingTokens = options.rules?.missingTokens?.(request) ?? 0;
  const { window, start, sums, correct } = measurement;
  const fixedTokens = measurement.fixedTokens + missingTokens;
  const budget = measurement.budget - missingTokens;
  const tokensIn = (from: number, end: number): number => sums[end]! - sums[from]!;
  const total = fixedTokens + tokensIn(start, messages.length);
  const { roundTo = Math.floor(window / 10), rules } = options;
  const trim = findTrim(messages, { ...measurement, budget, roundTo, rules });
  const { historyStart, questionEnd, turnStart } = trim;
  const removedCount = historyStart - start + (turnStart - questionEnd);
  const tokens = correct(total);
  if (!removedCount) return { messages, removed: removedCount, before: tokens, after: tokens };
  const history = messages.slice(historyStart, questionEnd);
  const fitted = [...messages.slice(0, start), ...history, ...messages.slice(turnStart)];
  const removedTokens = tokensIn(start, historyStart) + tokensIn(questionEnd, turnStart);
  return {
    messages: fitted,
    removed: removedCount,
    before: tokens,
    after: correct(total - removedTokens),
  };
}

/** Where to trim, and how much. */
interface TrimOptions extends Pick<RequestSize, 'questionIndex' | 'sums' | 'start'> {
  /** Maximum number of tokens of all messages together. */
  readonly budget: number;
  /** See `FitContextOptions`. 0: no rounding. */
  readonly roundTo: number;
  /** Default: those of `fitContext()`. */
  readonly rules?: TrimRules | undefined;
}

/**
 * The messages that stay: those from index `historyStart` to the one before `questionEnd`, and
 * those from index `turnStart` to the end. The first range ends with the current question and its
 * tool results.
 */
interface Trim {
  readonly historyStart: number;
  readonly questionEnd: number;
  readonly turnStart: number;
}

/**
 * Finds the messages to leave out: first those before the current question, oldest first. If that
 * is not enough, then those after the question, oldest first. All messages of a group stay, or
 * none.
 */
export function findTrim(messages: readonly Msg[], options: TrimOptions): Trim {
  const { sums, budget, roundTo, start, questionIndex, rules = defaultRules } = options;
  const questionEnd = afterQuestion(messages, options);
  const excess = sums[messages.length]! - sums[start]! - budget;
  if (excess <= 0) return { historyStart: start, questionEnd, turnStart: questionEnd };
  const roundedExcess = roundTo > 0 ? Math.ceil(excess / roundTo) * roundTo : excess;
  const historyStart = trimHistory(messages, options, roundedExcess);
  const removedTokens = sums[historyStart]! - sums[start]!;
  const missing = (removedTokens < excess ? roundedExcess : excess) - removedTokens;
  const end = rules.trimEnd({
    messages,
    from: questionEnd,
    hasQuestion: questionIndex >= start,
    budget,
    startOfGroup: (index) => groupStart(messages, index, questionEnd),
  });
  const turnStart = skip(messages, sums, { from: questionEnd, to: end, tokens: missing });
  return { historyStart, questionEnd, turnStart };
}

/**
 * Returns the index after the question. Tool results in the question's group stay with the
 * question.
 */
function afterQuestion(
  messages: readonly Msg[],
  { questionIndex, start, rules = defaultRules }: TrimOptions,
): number {
  let end = Math.max(questionIndex + 1, start);
  if (!rules.keepsResultsWithQuestion || end === start) return end;
  while (end < messages.length && hasToolResults(messages[end]!)) end++;
  return end;
}

/**
 * Returns the first message that stays of those before the question. At least `tokens` tokens are
 * left out, if there are as many.
 */
function trimHistory(
  messages: readonly Msg[],
  { questionIndex, sums, start, rules = defaultRules }: TrimOptions,
  tokens: number,
): number {
  if (questionIndex <= start) return start;
  let newStart = skip(messages, sums, { from: start, to: questionIndex, tokens });
  while (rules.beginsWithUser && newStart < questionIndex && messages[newStart]!.role !== 'user') {
    const next = groupEnd(messages, newStart);
    if (next > questionIndex) break;
    newStart = next;
  }
  return newStart;
}

/**
 * Returns the index at which to go on: the first end of a group at which at least `tokens` tokens
 * after `from` are left out. If `to` comes first, returns the last end of a group up to `to`.
 */
function skip(
  messages: readonly Msg[],
  sums: readonly number[],
  { from, to, tokens }: { from: number; to: number; tokens: number },
): number {
  let index = from;
  while (index < to && sums[index]! - sums[from]! < tokens) index++;
  const start = groupStart(messages, index, from);
  if (start === index) return index;
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
  while (start > from && start < messages.length && hasToolResults(messages[start]!)) start--;
  return start < index && groupEnd(messages, start) <= index ? index : start;
}

/** Returns the end of the group that starts at `start`: the index after its last message. */
function groupEnd(messages: readonly Msg[], start: number): number {
  let end = start + 1;
  if (!messages[start]!.content.some(({ type }) => type === 'tool_use')) return end;
  while (end < messages.length && hasToolResults(messages[end]!)) end++;
  return end;
}
