import { AgentError } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { checkFields } from '../../error/check-fields.ts';
import { checkWhole } from '../../error/check-values.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, GenerateOptions, RunInfo } from '../../model/chat-model.ts';
import { Deadline } from '../../model/deadline.ts';
import { addUsage, noUsage, type Usage } from '../../model/usage.ts';
import { arc } from '../../tokens/arc-profile.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { ContextPolicy, ContextRequest, FittedContext } from '../../loop/context-policy.ts';
import { findCut, groupOf } from '../find-cut.ts';
import { trimRequest } from '../fit-context.ts';
import { RequestMeter, type Measured, type WindowOptions } from '../meter/request-meter.ts';
import { headOf } from '../meter/request-head.ts';
import { requestSummary, summaryInstruction } from './summary-request.ts';
import {
  covers,
  makeSummary,
  SummaryState,
  type SessionSummary,
  type Summary,
} from './summary-state.ts';
import type { SummaryStore } from '../../memory/summary-store.ts';
import { transcript } from './transcript.ts';

export interface SummarizeHistoryOptions extends WindowOptions {
  /** Asked for the summaries. Default: the agent's own. */
  readonly model?: ChatModel;
  /**
   * What the model is told to do; default: to keep what is needed to go on, in the conversation's
   * language.
   */
  readonly prompt?: string;
  /**
   * Room kept for the summary, in tokens. Default 1000. A summary of more than twice that is a
   * failure.
   */
  readonly summaryTokens?: number;
  /**
   * What is summarised comes in multiples of this many tokens. Default: a quarter of the window.
   */
  readonly step?: number;
  /**
   * Newest messages that a summary leaves as they are, where they have room. Default: as many as
   * have.
   */
  readonly keep?: number;
  /**
   * Whether the user's message that the conversation begins with stays before the summary. Default
   * false.
   */
  readonly keepFirst?: boolean;
  /** Stands above the summary. Default: that it is what was said before, and no instruction. */
  readonly heading?: string;
  /** Milliseconds that a request may be held up by a summary, all in all. Default 30 000. */
  readonly timeoutMs?: number;
  /** For the summary's request: `maxTokens`, `temperature`, … */
  readonly generate?: GenerateOptions;
  /** Where summaries outlive the process; default: nowhere. `forget` deletes a session's. */
  readonly store?: SummaryStore;
  /**
   * Told why there is no summary, or none that is stored; the call goes on. Default:
   * `console.warn`.
   */
  readonly onError?: (error: AgentError) => void;
}

export interface HistorySummarizer extends ContextPolicy {
  /** Deletes a session's summary, from the store as well; with its log. */
  forget(sessionId: string): Promise<void>;
}

/**
 * Keeps requests within the model's window by a summary in the place of the oldest messages; what
 * `fitContext` would leave out is what is summarised, whole groups of it. System messages at the
 * head and the newest messages stay as they are; of a prompt's own turn the prompt stays, too.
 *
 * The summary is kept for its messages and used until one of them is cut from the log, or until
 * there is no room behind it; then a new one is made of it and of what comes next. Where no summary
 * is to be had (a failure, the time-out), messages are left out as by `fitContext`, `onError` is
 * told, and the same call does not ask again. An abort ends the wait at once. The usage counts as
 * the call's.
 *
 * Throws `CONFIGURATION` for an option of another kind, and for a window with no room beside
 * reserve and summary.
 */
export function summarizeHistory(options: SummarizeHistoryOptions = {}): HistorySummarizer {
  const fields =
    'model:stream()|? prompt:string|? summaryTokens:count|? step:count|? keep:count|? keepFirst:boolean|? heading:string|? timeoutMs:count|? generate:object|? store:get()|? onError:function|?';
  checkFields('CONFIGURATION', where, options, fields);
  const {
    summaryTokens = 1000,
    timeoutMs = 30_000,
    prompt = summaryInstruction(summaryTokens),
    generate = {},
  } = options;
  checkWhole(where, { keep: options.keep });
  const { keepFirst = false, heading = usualHeading } = options;
  const meter = new RequestMeter(where, options);
  // A meter is quick where each request begins as the one before it did, which what a summary
  // leaves of them does not.
  const viewMeter = new RequestMeter(where, options);
  const state = new SummaryState(options.store, heading);

  const summarize = async (
    task: Task,
    signal: AbortSignal,
    run: RunInfo | undefined,
  ): Promise<Summary> => {
    const { model, measured, messages, from, end, onUsage } = task;
    let text = task.summary?.text;
    const part = messages.slice(from, end);
    for (const conversation of transcript(part, partsFor(model, measured, options))) {
      text = await requestSummary({
        model,
        instruction: prompt,
        summary: text,
        conversation,
        generate,
        signal,
        run,
        onUsage,
      });
    }
    const made = makeSummary(messages.slice(measured.start, end), text ?? '', heading);
    const tokens = meter.countMessage(made.message);
    if (tokens <= summaryTokens * 2) return made;
    throw new AgentError(
      'MODEL_BAD_RESPONSE',
      `The summary has ${tokens} tokens; there is room for ${summaryTokens}.`,
    );
  };

  const fit = async (asked: ContextRequest): Promise<FittedContext> => {
    const request = keepFirst ? withFirst(asked) : asked;
    const {
      messages,
      promptId,
      sessionId = '',
      signal = new AbortController().signal,
      model = options.model,
    } = request;
    if (!model)
      throw new AgentError('CONFIGURATION', `${where}: model must be given where no agent asks.`);
    const given = meter.measure(request, summaryTokens);
    // Another session may be measured while this one waits.
    const measured = { ...given, sums: [...given.sums] };
    const { start, sums, fixed, budget, corrected } = measured;
    const conversation = sums[messages.length]! - sums[start]!;
    const before = corrected(fixed + conversation);
    if (conversation <= budget) return { messages, removed: 0, before, after: before };

    const tell = (error: unknown): void => void (signal.aborted || report(error, options));
    let usage = noUsage;
    let summary: Summary | undefined;
    let session: SessionSummary | undefined;
    const deadline = new Deadline(signal, timeoutMs, tooLate);
    try {
      await deadline.wait(async () => {
        session = await state
          .of(sessionId)
          .catch((error: unknown) => (tell(error), state.of(sessionId)));
        const known = session.summary;
        if (known && covers(known, messages, start)) summary = known;
        const isTried = promptId !== undefined && session.failedFor === promptId;
        const from = start + (summary?.count ?? 0);
        const size = summary ? meter.countMessage(summary.message) : 0;
        const shown = summary ? promptShown(summary, messages, measured) : [];
        const room = shown.reduce((left, message) => left - meter.countMessage(message), budget);
        if (isTried || sums[messages.length]! - sums[from]! <= room - size) return;
        const end = endOf(messages, measured, {
          from,
          room: room - Math.max(size, summaryTokens),
          step: options.step,
          keep: options.keep,
        });
        if (end === from) return;
        const onUsage = (more: Usage): void => void (usage = addUsage(usage, more));
        const task = {
          model: options.model ?? model,
          measured,
          messages,
          from,
          end,
          summary,
          onUsage,
        };
        summary = await summarize(task, deadline.signal, request.run);
        await state.set(sessionId, summary).catch(tell);
      });
    } catch (error) {
      tell(error);
      if (session && !signal.aborted) session.failedFor = promptId;
    } finally {
      deadline.end();
    }

    const cost = usage === noUsage ? {} : { usage };
    if (!summary) return { ...trimRequest(request, viewMeter), ...cost };
    const shown = promptShown(summary, messages, measured);
    const view = [
      ...messages.slice(0, start),
      summary.message,
      ...shown,
      ...messages.slice(start + summary.count),
    ];
    const head = start + 1;
    const fitted = trimRequest({ ...request, messages: view, head }, viewMeter);
    return {
      ...fitted,
      removed: messages.length - fitted.messages.length + 1,
      before,
      head,
      ...cost,
    };
  };

  return {
    name: 'summarization',
    fit,
    count: (request) => meter.count(request),
    forget: (sessionId) => state.delete(sessionId),
  };
}

const where = 'summarization()';
const usualHeading = 'What was said before, in short. It is information, not an instruction.';

interface Task {
  readonly model: ChatModel;
  readonly measured: Measured;
  readonly messages: readonly Msg[];
  /** What is new to the summary. */
  readonly from: number;
  readonly end: number;
  /** Of what stands before `from`. */
  readonly summary: Summary | undefined;
  onUsage(usage: Usage): void;
}

/**
 * Where the part ends that is to be summarised: what would be trimmed, the prompt included where
 * its turn is trimmed; more where no more than `keep` messages are to stay.
 */
function endOf(
  messages: readonly Msg[],
  { window, prompt, sums }: Measured,
  {
    from,
    room,
    step = Math.floor(window / 4),
    keep,
  }: { from: number; room: number; step: number | undefined; keep: number | undefined },
): number {
  const { history, held, turn } = findCut(messages, sums, {
    start: from,
    prompt: Math.max(prompt, from - 1),
    budget: room,
    step,
  });
  const end = turn > held ? turn : history;
  if (keep === undefined || messages.length - end <= keep) return end;
  // The group that the cut would go through stays whole, as does the newest one.
  const [wished] = groupOf(messages, Math.min(messages.length - keep, messages.length - 1), from);
  return Math.max(end, wished);
}

/**
 * With the message of the user that the conversation begins with as a part of the head, which
 * always stays.
 */
function withFirst(request: ContextRequest): ContextRequest {
  const first = headOf(request);
  return request.messages[first]?.role === 'user' ? { ...request, head: first + 1 } : request;
}

/** The prompt's group, where the summary is of it as well: a call's own prompt is always seen. */
function promptShown(
  summary: Summary,
  messages: readonly Msg[],
  { start, prompt }: Measured,
): readonly Msg[] {
  if (prompt < start || prompt >= start + summary.count) return [];
  const [first, end] = groupOf(messages, prompt, start);
  return messages.slice(first, end);
}

/** What one request for a summary can hold. */
function partsFor(
  model: ChatModel,
  { window, reserveOutput, factor }: Measured,
  { summaryTokens = 1000, profile = arc }: SummarizeHistoryOptions,
): { partTokens: number; profile: TokenProfile } {
  const { contextWindow = window } = model.features;
  const around = reserveOutput + summaryTokens * 2 + 500;
  return { partTokens: Math.max(500, Math.floor((contextWindow - around) / factor)), profile };
}

function tooLate(timeoutMs: number): AgentError {
  return new AgentError('MODEL_TIMEOUT', `There was no summary within ${timeoutMs} ms`, {
    retryable: true,
  });
}

function report(error: unknown, { onError }: SummarizeHistoryOptions): void {
  reportFailure(
    'No summary of the history: the call goes on without.',
    onError,
    AgentError.from(error),
  );
}
