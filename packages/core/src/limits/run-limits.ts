import type { Middleware, OpenCall, Run } from '../agent/middleware.ts';
import { isNewAnswer, type Next } from '../agent/next.ts';
import { perRun } from '../agent/per-run.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { allowTools, toolOf } from '../tool/set/tool-set.ts';
import { errorResult } from '../tool/tool-call.ts';

export const runLimitOptions: OptionTable<RunLimits> = {
  toolCalls: optional(nonNegative),
  tokens: optional(nonNegative),
};

/** Limits that count what one agent call uses. */
export interface RunLimits {
  /**
   * Maximum number of tool calls in one agent call. Default: no limit. Tool calls that do not run
   * also count, but not those beyond `replyCalls`. At the limit, the model gets no tools, and its
   * answer ends the agent call with reason `limit`. If the model gives an output by a tool call,
   * the reason is `stop`. A tool call beyond the limit gets an error result. A pending tool call
   * counts in the agent call that requested it, not in the agent call that resumes it. Tool calls
   * that `deferRound` holds back count in the agent call that starts them. Source: Arc Reactor,
   * `maxToolCalls`.
   */
  readonly toolCalls?: number;
  /**
   * Maximum number of input and output tokens of one agent call, as the provider reports them.
   * Default: no limit. The loop checks the limit before each model request. At the limit, `onLimit`
   * gives the answer. Child agents of `agentTool()` do not count: give them a limit of their own.
   */
  readonly tokens?: number;
}

/**
 * Enforces limits of tool calls and tokens. `ReActAgent` has this middleware, and its own `limits`
 * override these field by field. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function runLimits(defaults: RunLimits = {}): Middleware {
  checkOptions('runLimits()', defaults, runLimitOptions);
  /** Ids of the counted tool calls of each run. A deferred round passes here several times. */
  const countedIn = perRun(() => new Set<string>());
  const maxCalls = ({ options }: Run): number =>
    options.limits.toolCalls ?? defaults.toolCalls ?? Infinity;
  const hasCallsLeft = (run: Run): boolean => countedIn(run).size < maxCalls(run);
  const countCall = (call: OpenCall, run: Run): OpenCall => {
    if (!isCounted(call, run)) return call;
    const countedIds = countedIn(run);
    if (hasCallsLeft(run)) countedIds.add(call.toolUse.id);
    if (countedIds.has(call.toolUse.id) || call.result) return call;
    const message = `The limit of ${countedIds.size} tool calls is reached. Answer with what you have.`;
    return { ...call, result: errorResult(call.toolUse, message) };
  };
  return {
    name: 'runLimits',
    wrapRequest: (draft, next, run) => {
      const { usage, options } = run;
      const tokens = options.limits.tokens ?? defaults.tokens ?? Infinity;
      const isOver = usage.inputTokens + usage.outputTokens >= tokens;
      const limitedDraft = isOver ? { ...draft, limit: draft.limit ?? 'limit' } : draft;
      if (hasCallsLeft(run)) return next(limitedDraft);
      run.tools.set(allowTools(run.tools.current, []));
      return next({ ...limitedDraft, tools: run.tools.schemas });
    },
    wrapReply: (reply, next, run) => (hasCallsLeft(run) ? next(reply) : next(reply).then(atLimit)),
    wrapRound: (round, next, run) =>
      next({ ...round, calls: round.calls.map((call) => countCall(call, run)) }),
  };
}

/** Returns what a run does after its last reply: an answer ends it with reason `limit`. */
function atLimit(next: Next): Next {
  return isNewAnswer(next) ? { ...next, reason: 'limit' } : next;
}

/**
 * Returns whether a tool call counts. A call that gives the answer does not, and an earlier run has
 * counted a call that its hooks have seen.
 */
function isCounted({ toolUse, state, result }: OpenCall, { tools }: Run): boolean {
  if (state.toolUse || result?.state === 'denied') return false;
  return !toolOf(tools.current, toolUse.name)?.givesAnswer;
}
