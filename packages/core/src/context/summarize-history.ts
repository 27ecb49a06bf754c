import { AgentError, misconfigured } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import {
  boolean,
  either,
  func,
  infinity,
  nonNegative,
  object,
  optional,
  string,
  whole,
  withMethod,
} from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { chatModel } from '../model/model-kind.ts';
import { reportFailure } from '../error/report-failure.ts';
import type { Msg } from '../message/msg.ts';
import { boundedModel } from '../model/reply/bounded-model.ts';
import {
  addUsage,
  generateOptions,
  noUsage,
  type ChatModel,
  type GenerateOptions,
  type Usage,
} from '../model/chat-model.ts';
import { Deadline } from '../wait/deadline.ts';
import { arc } from '../tokens/arc-profile.ts';
import { countMessage } from '../tokens/count-message.ts';
import {
  headEnd,
  contextPolicy,
  type ContextMiddleware,
  type ContextRequest,
  type FittedContext,
} from './context-policy.ts';
import { findTrim, groupOf, trimRequest } from './fit-context.ts';
import {
  requestMeter,
  windowOptions,
  type RequestSize,
  type RequestMeter,
  type WindowOptions,
} from './request-meter.ts';
import { requestSummary, summaryInstruction } from './summary-request.ts';
import { makeSummary, SummaryState, type SessionSummary, type Summary } from './summary-state.ts';
import { covers } from '../memory/log/session-view.ts';
import type { SummaryStore } from '../memory/store/key-value-store.ts';

/** When `summarizeHistory()` summarizes, what stays, and which model writes the summary. */
export interface SummarizeHistoryOptions extends WindowOptions {
  /**
   * Maximum number of estimated tokens of a request; a longer request is summarized. This option
   * replaces `window` and sets `reserveOutput` to 0. It also changes two defaults: `keep` is 20 and
   * `keepFirst` is true. Source: Spring AI Alibaba, `SummarizationHook`.
   */
  readonly maxTokens?: number;
  /** Model that writes the summaries. Default: the agent's model. */
  readonly model?: ChatModel;
  /**
   * Instruction for the model. Default: asks the model to keep what the assistant needs to
   * continue, in the conversation's language.
   */
  readonly prompt?: string;
  /**
   * Number of tokens to keep free for the summary. Default: 1000. A summary that has more than
   * twice as many tokens is an error.
   */
  readonly summaryTokens?: number;
  /**
   * Unit of summaries, in tokens: each summary covers a multiple of it. Default: a quarter of the
   * window.
   */
  readonly roundTo?: number;
  /**
   * Number of newest messages that a summary does not cover, if they fit. Default: as many as fit.
   */
  readonly keep?: number;
  /**
   * Whether the user's message at the beginning of the conversation always stays in the request.
   * Default: false.
   */
  readonly keepFirst?: boolean;
  /** Maximum time, in milliseconds, that summaries may delay one request. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Options of the summary request: `maxTokens`, `temperature`, … */
  readonly generate?: GenerateOptions;
  /**
   * Store that keeps summaries after the process ends. Default: none. `deleteSession` deletes a
   * session's summary from the store.
   */
  readonly store?: SummaryStore;
  /**
   * Function that gets the error if a summary fails or cannot be stored. The agent call continues.
   * Default: logs the error with `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
}

/** What `summarizeHistory()` returns: middleware that can delete the summary of a session. */
export interface HistorySummarizer extends ContextMiddleware {
  /**
   * Deletes a session's summary from memory and from the store. Call `deleteSession` when you
   * delete the session's log.
   */
  deleteSession(sessionId: string): Promise<void>;
}

/**
 * Replaces the oldest messages with a summary so that a request fits in the model's window. The
 * summary covers the messages that `fitContext` would leave out. A message with tool calls and its
 * results are always summarized together. System messages at the beginning and the newest messages
 * stay as they are. The current question stays even if the summary covers its turn.
 *
 * A summary is reused until one of its messages is removed from the session log, or the messages
 * after it no longer fit. In the second case, the model writes the next summary from the old
 * summary and the messages after it. If a summary fails or takes too long, messages are left out as
 * by `fitContext`. `onError`, the event `context-fitted` and the result's `warnings` get the error.
 * The same agent call does not ask for a summary again. An abort stops the wait at once. The usage
 * of summaries counts toward the usage of the agent call.
 *
 * Throws `CONFIGURATION` for an option of the wrong kind. Also throws it if the window has no room
 * besides `reserveOutput` and `summaryTokens`.
 */
export function summarizeHistory(options: SummarizeHistoryOptions = {}): HistorySummarizer {
  checkOptions(where, options, summarizeHistoryOptions);
  checkOptions(`${where}: generate`, options.generate ?? {}, generateOptions);
  const settings = settingsOf(options);
  const state = new SummaryState(settings.store);
  const summarizer = new Summarizer(settings, state);
  return contextPolicy({
    name: 'summarizeHistory',
    fit: (request) => summarizer.fit(settings.keepFirst ? withFirst(request) : request),
    deleteSession: (sessionId: string) => state.delete(sessionId),
  });
}

const where = 'summarizeHistory()';

const summarizeHistoryOptions: OptionTable<SummarizeHistoryOptions> = {
  maxTokens: optional(nonNegative),
  summaryTokens: optional(nonNegative),
  roundTo: optional(nonNegative),
  timeoutMs: optional(nonNegative),
  model: optional(chatModel),
  prompt: optional(string),
  keep: optional(either(whole, infinity)),
  keepFirst: optional(boolean),
  generate: optional(object),
  store: optional(withMethod('get')),
  onError: optional(func),
  ...windowOptions,
};

type Settings = SummarizeHistoryOptions &
  Required<Pick<SummarizeHistoryOptions, 'summaryTokens' | 'timeoutMs' | 'prompt' | 'profile'>>;

/** Fills in the defaults. Throws `CONFIGURATION` if `maxTokens` has no room for a summary. */
function settingsOf({ maxTokens, ...options }: SummarizeHistoryOptions): Settings {
  const { summaryTokens = 1000, timeoutMs = 30_000, profile = arc } = options;
  const { prompt = summaryInstruction(summaryTokens) } = options;
  const settings = { ...options, summaryTokens, timeoutMs, profile, prompt };
  if (maxTokens === undefined) return settings;
  if (maxTokens > summaryTokens)
    return { keep: 20, keepFirst: true, ...settings, window: maxTokens, reserveOutput: 0 };
  const room = `leaves no room beside summaryTokens: ${summaryTokens}`;
  throw misconfigured(`${where}: maxTokens: ${maxTokens} ${room}.`);
}

/** A request that does not fit, and what its summary has brought and cost so far. */
interface Work {
  readonly request: ContextRequest;
  readonly requestSize: RequestSize;
  /** Model that writes the summary. */
  readonly model: ChatModel;
  /** Signal of the agent call. */
  readonly signal: AbortSignal;
  session?: SessionSummary;
  /** Summary of the beginning of the conversation. */
  summary?: Summary;
  usage?: Usage;
  error?: AgentError;
}

/** Fits requests with the summaries of their sessions. */
class Summarizer {
  readonly #settings: Settings;
  readonly #state: SummaryState;
  readonly #measure: RequestMeter;
  /**
   * A meter is fast only if each request begins like the previous request. A request with a summary
   * begins differently, so it needs its own meter.
   */
  readonly #measureView: RequestMeter;

  constructor(settings: Settings, state: SummaryState) {
    this.#settings = settings;
    this.#state = state;
    this.#measure = requestMeter(where, settings);
    this.#measureView = requestMeter(where, settings);
  }

  async fit(request: ContextRequest): Promise<FittedContext> {
    const { messages, signal = new AbortController().signal } = request;
    const { model: summaryModel, summaryTokens } = this.#settings;
    const model = summaryModel ? boundedModel(summaryModel) : request.model;
    if (!model) throw misconfigured(`${where}: set model when no agent makes the request.`);
    const measurement = this.#measure(request, summaryTokens);
    // Copies `sums`: the meter reuses the array if it measures another session during a wait below.
    const requestSize = { ...measurement, sums: [...measurement.sums] };
    const { start, sums, fixedTokens, budget, correct } = requestSize;
    const conversationTokens = sums[messages.length]! - sums[start]!;
    const tokens = correct(fixedTokens + conversationTokens);
    if (conversationTokens <= budget)
      return { messages, removed: 0, before: tokens, after: tokens };
    const work: Work = { request, requestSize, model, signal };
    await this.#summarize(work);
    return { ...this.#view(work, tokens), usage: work.usage, error: work.error };
  }

  /** Finds or writes the summary of a request, within the time limit. Reports a failure. */
  async #summarize(work: Work): Promise<void> {
    const { request, signal } = work;
    const deadline = new Deadline(signal, this.#settings.timeoutMs, timeoutError);
    try {
      await deadline.wait(() => this.#update(work, deadline.signal));
    } catch (error) {
      this.#fail(work, error);
      if (work.session && !signal.aborted) work.session.failedQuestionId = request.questionId;
    } finally {
      deadline.end();
    }
  }

  async #update(work: Work, signal: AbortSignal): Promise<void> {
    const { messages, questionId, sessionId = '' } = work.request;
    const fail = (error: unknown): void => this.#fail(work, error);
    const session = await this.#state.of(sessionId, fail);
    work.session = session;
    const { summary: earlierSummary, failedQuestionId } = session;
    if (earlierSummary && covers(earlierSummary, messages, work.requestSize.start))
      work.summary = earlierSummary;
    if (questionId !== undefined && failedQuestionId === questionId) return;
    const end = this.#endOfSummary(work);
    if (end === firstUncovered(work)) return;
    work.summary = await this.#write(work, end, signal);
    await this.#state.set(sessionId, work.summary).catch(fail);
  }

  /**
   * Returns the index after the last message to summarize. It is the first uncovered message if
   * what the model sees fits. The summary covers the messages that trimming would leave out. If
   * trimming would reach the question's turn, it covers the question, too. It covers more if more
   * than `keep` messages would stay.
   */
  #endOfSummary(work: Work): number {
    const { request, requestSize, summary } = work;
    const { messages } = request;
    const { window, sums, budget } = requestSize;
    const { summaryTokens, roundTo = Math.floor(window / 4), keep = Infinity } = this.#settings;
    const from = firstUncovered(work);
    const size = summary ? this.#count(summary.message) : 0;
    const count = (rest: number, message: Msg): number => rest - this.#count(message);
    const room = shownQuestion(work).reduce(count, budget);
    if (sums[messages.length]! - sums[from]! <= room - size) return from;
    const remaining = room - Math.max(size, summaryTokens);
    const questionIndex = Math.max(requestSize.questionIndex, from - 1);
    const trim = { sums, start: from, questionIndex, budget: remaining, roundTo };
    const { historyStart, questionEnd, turnStart } = findTrim(messages, trim);
    const end = turnStart > questionEnd ? turnStart : historyStart;
    if (messages.length - end <= keep) return end;
    // Messages of one group stay together, and the newest group always stays.
    const newestIndex = Math.min(messages.length - keep, messages.length - 1);
    return Math.max(end, groupOf(messages, newestIndex, from)[0]);
  }

  /** Writes a summary of all messages before the index `end`. */
  async #write(work: Work, end: number, signal: AbortSignal): Promise<Summary> {
    const { request, requestSize, model, summary } = work;
    const { summaryTokens, prompt, generate, profile } = this.#settings;
    const { start, window, reserveOutput, factor } = requestSize;
    const { contextWindow = window } = model.features;
    const reservedTokens = reserveOutput + summaryTokens * 2 + 500;
    const text = await requestSummary({
      model,
      system: prompt,
      summary: summary?.text,
      messages: request.messages.slice(firstUncovered(work), end),
      partTokens: Math.max(500, Math.floor((contextWindow - reservedTokens) / factor)),
      profile,
      generate,
      signal,
      run: request.run,
      onUsage(usage) {
        work.usage = addUsage(work.usage ?? noUsage, usage);
      },
    });
    const newSummary = makeSummary(request.messages.slice(start, end), text);
    const tokens = this.#count(newSummary.message);
    if (tokens <= summaryTokens * 2) return newSummary;
    const message = `The summary has ${tokens} tokens; there is room for ${summaryTokens}.`;
    throw new AgentError('MODEL_BAD_RESPONSE', message);
  }

  #count(message: Msg): number {
    return countMessage(message, this.#settings.profile);
  }

  #fail(work: Work, thrown: unknown): void {
    if (work.signal.aborted) return;
    work.error = AgentError.from(thrown);
    const message = 'The history could not be summarized. The call continues without a summary.';
    reportFailure(message, this.#settings.onError, work.error);
  }

  /** Returns the request with its summary, trimmed if it still does not fit. */
  #view(work: Work, tokens: number): FittedContext {
    const { request, requestSize, summary } = work;
    if (!summary) return trimRequest(request, this.#measureView);
    const head = request.messages.slice(0, requestSize.start);
    const rest = request.messages.slice(firstUncovered(work));
    const messages = [...head, summary.message, ...shownQuestion(work), ...rest];
    const fixedCount = head.length + 1;
    const fitted = trimRequest({ ...request, messages, fixedCount }, this.#measureView);
    const removedCount = request.messages.length - fitted.messages.length + 1;
    return { ...fitted, removed: removedCount, before: tokens, fixedCount };
  }
}

/** Returns the index of the first message of the conversation that the summary does not cover. */
function firstUncovered({ requestSize, summary }: Work): number {
  return requestSize.start + (summary?.count ?? 0);
}

/** Counts the user's first message as part of the head: the messages that always stay. */
function withFirst(request: ContextRequest): ContextRequest {
  const headLength = headEnd(request);
  const beginsWithUser = request.messages[headLength]?.role === 'user';
  return beginsWithUser ? { ...request, fixedCount: headLength + 1 } : request;
}

/**
 * Returns the current question and its tool results if the summary covers the question. The model
 * always sees the question of the current agent call.
 */
function shownQuestion(work: Work): readonly Msg[] {
  const { messages } = work.request;
  const { start, questionIndex } = work.requestSize;
  if (questionIndex < start || questionIndex >= firstUncovered(work)) return [];
  return messages.slice(...groupOf(messages, questionIndex, start));
}

function timeoutError(timeoutMs: number): AgentError {
  const message = `The summary took longer than ${timeoutMs} ms`;
  return new AgentError('MODEL_TIMEOUT', message, { retryable: true });
}
