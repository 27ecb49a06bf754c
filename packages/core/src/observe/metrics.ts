import type { AgentError, AgentErrorCode } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, object, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { callListener } from '../error/report-failure.ts';
import type { EventOf } from '../event/agent-event.ts';
import { omitUndefined } from '../message/json.ts';
import type { ToolResult, ToolUse } from '../message/msg.ts';
import type { ChatModel, ModelDelta, RunInfo, Usage } from '../model/chat-model.ts';
import type { IncompleteReason } from '../model/finish-reason.ts';
import { replyFailure, watchReply, type ReplyEnd } from '../model/reply/watch-reply.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';
import { monotonicNow, msSince } from '../wait/monotonic.ts';
import { hasResult, withExecute } from '../tool/tool-call.ts';
import type { StopReason } from '../event/agent-result.ts';
import type { Middleware } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';

/** Agent, run, session and user of a measurement. */
interface RunLabels {
  readonly agent: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly userId?: string;
}

/** Measurement of one agent call. */
export interface AgentCallMetric extends RunLabels {
  readonly reason: StopReason;
  /** Why the answer may not be whole. */
  readonly incomplete?: IncompleteReason;
  /**
   * Error code of an agent call that failed or was rejected, or whose summary at a limit failed.
   */
  readonly error?: AgentErrorCode;
  readonly durationMs: number;
  readonly iterations: number;
  readonly toolsUsed: readonly string[];
}

/**
 * Measurement of one model request. The labels are absent if the request was made outside a run.
 */
export interface ModelMetric extends Partial<RunLabels> {
  /**
   * Provider of the model that replied or, after a failure, of the last model that was asked. With
   * `fallback()` this model may differ from the agent's model.
   */
  readonly provider: string;
  readonly modelId: string;
  readonly durationMs: number;
  /**
   * Time to the first text, thinking, tool call or file, in milliseconds. Absent if the reply has
   * none of them.
   */
  readonly firstDeltaMs?: number;
  readonly usage?: Usage;
  /**
   * `cancelled`: the reader stopped, for example after an interrupt or abort. A request that took
   * too long is `failed`.
   */
  readonly outcome: 'ok' | 'failed' | 'cancelled';
  readonly error?: AgentErrorCode;
}

/** Measurement of a request that was fitted to the model's context window. */
export interface ContextMetric extends RunLabels {
  /** Number of messages that were left out. */
  readonly removed: number;
  /** Estimated tokens of the request before fitting. */
  readonly before: number;
  /** Estimated tokens of the request after fitting. */
  readonly after: number;
  /** Error code of a summary of the history that failed. */
  readonly error?: AgentErrorCode;
}

/** Measurement of one tool call. */
export interface ToolMetric extends RunLabels {
  readonly name: string;
  readonly toolUseId: string;
  /**
   * Time of the tool's execution in milliseconds, without the wait for a free slot or an approval.
   * 0 if no tool ran, because the tool is unknown or the arguments are invalid.
   */
  readonly durationMs: number;
  readonly outcome: ToolResult['state'] | 'suspended' | 'failed';
}

/**
 * Receiver of the measurements. Every method is optional. An error that a method throws is logged
 * to the console. Streamed agent calls are recorded like all others. Retries, fallbacks, caches,
 * circuit breakers and output guards report to their own callbacks. Source: Arc Reactor,
 * `AgentMetrics`.
 */
export interface Metrics {
  /** Records an agent call that has ended, with any result. */
  agentCall?(metric: AgentCallMetric): void;
  /**
   * Records the tokens of a whole agent call, even if it failed. Not called if the model's server
   * reports no usage.
   */
  tokenUsage?(usage: Usage, labels: RunLabels): void;
  modelRequest?(metric: ModelMetric): void;
  /** Records a model request whose messages were left out or summarized. */
  contextFitted?(metric: ContextMetric): void;
  /**
   * Records a tool that has run, or a replacement of the tool. A call of an unknown tool, or with
   * invalid arguments, is recorded with the outcome `error`. Tool calls that were rejected or are
   * over a limit are not recorded; the agent's events contain them.
   */
  toolCall?(metric: ToolMetric): void;
  /** Records the rejection of an input or of a reply. */
  guardRejection?(
    rejection: { readonly stage: string; readonly category: string } & RunLabels,
  ): void;
}

/** Clock of `metrics()`. */
export interface MetricsOptions {
  /** Clock for durations, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/**
 * Measures agent calls, model requests and tool calls. Several agents can share one middleware.
 *
 * If it is first in the list, it measures a model request together with its retries and fallback
 * models. The measurement names the model that replied. If it is last in the list, it measures each
 * attempt. Use its `wrapModel` on a fallback model to measure the attempts of that model. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function metrics(
  recorder: Metrics,
  options: MetricsOptions = {},
): Middleware & ModelMiddleware {
  checkFields('metrics()', { recorder }, { recorder: object });
  checkOptions('metrics()', options, metricsOptions);
  const { now = monotonicNow } = options;
  /** Ids of tool calls after `pre-acting` whose tool was not called yet. */
  const waitingIn = perRun((): Set<string> => new Set());
  const recordCall = (
    run: RunInfo,
    { id: toolUseId, name }: ToolUse,
    measured: Pick<ToolMetric, 'durationMs' | 'outcome'>,
  ): void =>
    callListener(() => recorder.toolCall?.({ ...labelsOf(run), name, toolUseId, ...measured }));
  return {
    name: 'metrics',
    onError: 'ignore',
    on: {
      'pre-acting': ({ toolUse }, run) => void waitingIn(run).add(toolUse.id),
      'post-acting': (event, run) => {
        const { toolUse, result } = event;
        if (!waitingIn(run).delete(toolUse.id) || result.state !== 'error') return;
        recordCall(event, toolUse, { durationMs: 0, outcome: 'error' });
      },
      'context-fitted'(event) {
        const { removed, before, after, error } = event;
        const sizes = { removed, before, after, ...(error && { error: error.code }) };
        callListener(() => recorder.contextFitted?.({ ...labelsOf(event), ...sizes }));
      },
      'run-end': (event) => recordEnd(recorder, event),
    },
    wrapModel: (next) => measuredModel(next, recorder, now),
    wrapTool: async (call, next, run) => {
      const { toolUse } = call;
      waitingIn(run).delete(toolUse.id);
      let startedAt = now();
      let isBegun = false;
      // Another wrapper may first wait for an approval, so the time is measured from here.
      const timedCall = withExecute(call, (execute, input, toolContext) => {
        if (!isBegun) startedAt = now();
        isBegun = true;
        return execute(input, toolContext);
      });
      const record = (outcome: ToolMetric['outcome']): void =>
        recordCall(run, toolUse, { durationMs: msSince(startedAt, now), outcome });
      try {
        const outcome = await next(timedCall);
        const state = hasResult(outcome) ? outcome.state : 'suspended';
        if (isBegun || !statesWithoutTool.includes(state)) record(state);
        return outcome;
      } catch (error) {
        record('failed');
        throw error;
      }
    },
  };
}

/** How a call ends whose tool may not have begun. Such a call has no time to record. */
const statesWithoutTool: readonly ToolMetric['outcome'][] = ['suspended', 'denied', 'interrupted'];

const metricsOptions: OptionTable<MetricsOptions> = { now: optional(func) };

function labelsOf({ agentPath, runId, sessionId, userId }: RunInfo): RunLabels {
  return omitUndefined({ agent: agentPath.at(-1) ?? '', runId, sessionId, userId });
}

function recordEnd(recorder: Metrics, event: EventOf<'run-end'>): void {
  const { result } = event;
  const labels = labelsOf(event);
  const { reason, incomplete, error, durationMs, iterations, toolsUsed, usage } = result;
  const fields = { reason, ...(incomplete && { incomplete }), durationMs, iterations, toolsUsed };
  const code = error && { error: error.code as AgentErrorCode };
  callListener(() => recorder.agentCall?.({ ...labels, ...fields, ...code }));
  const isUsed = usage.inputTokens + usage.outputTokens > 0;
  if (isUsed) callListener(() => recorder.tokenUsage?.(usage, labels));
  if (reason !== 'rejected') return;
  const { details = {} } = error as AgentError;
  const { stage = 'unknown', category = 'unknown' } = details;
  const rejection = { stage: String(stage), category: String(category) };
  callListener(() => recorder.guardRejection?.({ ...labels, ...rejection }));
}

function measuredModel(model: ChatModel, recorder: Metrics, now: () => number): ChatModel {
  return withStream(model, (request, context) => {
    const startedAt = now();
    let lastModel: Pick<ChatModel, 'provider' | 'modelId'> = model;
    let firstDeltaMs: number | undefined;
    let usage: Usage | undefined;
    return watchReply(model, request, context, {
      asks(next) {
        lastModel = next;
      },
      add(deltas) {
        if (firstDeltaMs === undefined && deltas.some(isContent))
          firstDeltaMs = msSince(startedAt, now);
        for (const delta of deltas) if (delta.type === 'finish') ({ usage } = delta);
      },
      end(end) {
        const { provider, modelId } = lastModel;
        const labels = context.run && labelsOf(context.run);
        const durationMs = msSince(startedAt, now);
        const measured = omitUndefined({ provider, modelId, durationMs, firstDeltaMs, usage });
        callListener(() =>
          recorder.modelRequest?.({ ...labels, ...measured, ...replyOutcome(end) }),
        );
      },
    });
  });
}

function replyOutcome(end: ReplyEnd): Pick<ModelMetric, 'outcome' | 'error'> {
  const failure = replyFailure(end);
  if (failure) return { outcome: 'failed', error: failure.code };
  return { outcome: end.type === 'ok' ? 'ok' : 'cancelled' };
}

function isContent({ type }: ModelDelta): boolean {
  return type !== 'finish' && type !== 'reset';
}
