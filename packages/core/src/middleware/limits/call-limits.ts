import type { Ending } from '../../agent/next.ts';
import type { Middleware, OpenCall, Round, RunContext, Steps } from '../../agent/middleware.ts';
import { AgentError, misconfigured, checkOptions } from '../../error/agent-error.ts';
import { ownPrefix } from '../../state/state-key.ts';
import type { ToolUse } from '../../message/msg.ts';
import {
  decidedResult,
  hasResult,
  interruptedResult,
  isSuspension,
  mayHaveStarted,
  toolResult,
  type ToolOutcome,
} from '../../tool/tool-call.ts';
import { perRun } from '../../agent/per-run.ts';
import { toolOf } from '../../tool/set/tool-set.ts';

/** How many calls a run and a session may have, and what happens after the last one. */
export interface CallLimitOptions {
  /** Maximum number in one run. A run that resumes after a suspension continues the count. */
  readonly run?: number;
  /** Maximum number in all runs of the session. */
  readonly session?: number;
  /**
   * What happens at the limit. `end` (default) ends the agent call with `text` as its answer and
   * `limit` as its reason. `fail` fails it with `LIMIT_EXCEEDED`.
   */
  readonly atLimit?: 'end' | 'fail';
  /** Text of the final message or of the error. Default: names the limit that is reached. */
  readonly text?: string;
}

/** Fields of `CallLimitOptions` for `checkOptions`. */
const limitFields = 'run,session:nonNegative|? atLimit:end|fail|? text:string|?';

/**
 * The numbers of a session, which the limits of one kind share. `inRun`: items of the run `runId`.
 * `session` and `run` have those before it: of the session, and of the runs that it continues.
 */
type Count = Readonly<Record<'session' | 'run' | 'inRun', number> & { runId: string }>;

/**
 * Creates a limit of model requests or tool calls, which are counted in the session's
 * state. `key` is the name of the count in the state, and `what` names the counted items in
 * messages. Throws `CONFIGURATION` without a limit.
 */
function callLimit(key: string, what: string, options: CallLimitOptions) {
  if ((options.run ?? options.session) === undefined)
    throw misconfigured(`The limit of ${what} needs \`run\` or \`session\`.`);
  const name = ownPrefix + key;
  return {
    /** Returns the error of the limit if `more` further items would exceed it. */
    excess(more: number, context: RunContext): AgentError | undefined {
      const { run, session, inRun } = countIn(context, name);
      const used = { run: run + inRun, session: session + inRun };
      const furtherText = more > 1 ? `, ${more} more asked for` : '';
      const reached = (['run', 'session'] as const)
        .filter((kind) => used[kind] + more > (options[kind] ?? Infinity))
        .map((kind) => `${used[kind]} of ${options[kind]} used in this ${kind}${furtherText}`);
      if (!more || !reached.length) return undefined;
      const text = options.text ?? `The limit of ${what} is reached: ${reached.join('; ')}.`;
      return new AgentError('LIMIT_EXCEEDED', text, { details: { what, ...used } });
    },
    /** Sets the number of items that this run has had so far. */
    setCount(inRun: number, context: RunContext): void {
      context.state[name] = { ...countIn(context, name), inRun };
    },
  };
}

function countIn({ runId, resumes, state }: RunContext, name: string): Count {
  const count = state[name] as Count | undefined;
  if (count?.runId === runId) return count;
  const { session = 0, run = 0, inRun = 0, runId: earlier } = count ?? {};
  const isResumed = earlier !== undefined && earlier === resumes;
  return { session: session + inRun, run: isResumed ? run + inRun : 0, inRun: 0, runId };
}

/** Returns the end of an agent call at a limit. */
function endAt(text: string, steps: Steps): Ending {
  const message = steps.message('assistant', text, { metadata: { reason: 'limit' } });
  return { kind: 'custom', reason: 'limit', message };
}

/**
 * Limits the number of model requests in a run, in a session, or in both (Spring AI Alibaba:
 * `ModelCallLimitHook`). The count is part of the session's state and is checked before each
 * request of the loop. The closing request of `onLimit` does not count. A request that another hook
 * cancels counts. Throws `CONFIGURATION` without a limit.
 */
export function modelRequestLimit(options: CallLimitOptions): Middleware {
  checkOptions('modelRequestLimit()', options, limitFields);
  const limit = callLimit('modelRequests', 'model requests', options);
  return {
    name: 'modelRequestLimit',
    wrapRequest: (next) => async (draft, context, steps) => {
      if (draft.limit) return next(draft);
      const excess = limit.excess(1, context);
      if (excess && options.atLimit === 'fail') throw excess;
      if (excess) return endAt(excess.message, steps);
      const outcome = await next(draft);
      limit.setCount(context.iteration, context);
      return outcome;
    },
  };
}

/** Which tool calls to count, and how many are allowed. */
export interface ToolCallLimitOptions extends CallLimitOptions {
  /** Name of the tool whose calls count. Default: all tools. */
  readonly tool?: string;
}

/**
 * Limits the calls of one tool in a run or in a session, or all tool calls of a session (Spring AI
 * Alibaba: `ToolCallLimitHook`). The count is part of the session's state. If a reply asks for too
 * many tool calls, none of them runs. Their results have the state `interrupted` and a text that
 * names the limit. A tool call counts once, right before it runs. A tool call of `structured()`
 * does not count toward a limit of all tools. Throws `CONFIGURATION` without a limit, or if `run`
 * is set without `tool`. To limit all tools in a run, use the agent's `limits.toolCalls`.
 */
export function toolCallLimit(options: ToolCallLimitOptions): Middleware {
  checkOptions('toolCallLimit()', options, `${limitFields} tool:string|?`);
  const { tool, run } = options;
  if (tool === undefined && run !== undefined)
    throw misconfigured('To limit all tool calls of a run, set `limits.toolCalls` of the agent.');
  const what = tool === undefined ? 'tool calls' : `calls of "${tool}"`;
  const key = tool === undefined ? 'toolCalls' : `toolCalls:${tool}`;
  const limit = callLimit(key, what, options);
  const counts = ({ name }: ToolUse, { tools }: RunContext): boolean =>
    tool === undefined ? !toolOf(tools, name)?.givesAnswer : name === tool;
  // Hooks have seen other calls, which this limit has then admitted.
  const isNew = ({ toolUse, state, result }: OpenCall, context: RunContext): boolean =>
    counts(toolUse, context) && !state.toolUse && !result;
  const usedIn = perRun(() => new Set<string>());
  return {
    name: tool === undefined ? 'toolCallLimit' : `toolCallLimit:${tool}`,
    wrapRound: (next) => async (round, context, steps) => {
      const calls = allCalls(round, context);
      const newCalls = calls.filter((call) => isNew(call, context));
      const excess = limit.excess(newCalls.length, context);
      if (!excess) return next(round);
      if (options.atLimit === 'fail') throw excess;
      for (const { toolUse, state, result } of calls) {
        const closedResult = mayHaveStarted(state)
          ? interruptedResult(toolUse, state)
          : toolResult(toolUse, `It did not run. ${excess.message}`, 'interrupted');
        await steps.closeCall(toolUse, result ?? closedResult);
      }
      return endAt(excess.message, steps);
    },
    wrapTool: (next) => async (call, context) => {
      if (!counts(call.toolUse, context) || mayHaveStarted(call.state)) return next(call);
      const usedIds = usedIn(context);
      // An outer wrapper may run the call again.
      usedIds.add(call.toolUse.id);
      limit.setCount(usedIds.size, context);
      // Counted before, so that the log has the count if the process dies while the tool runs.
      const outcome = await next(call);
      // An inner `approvals()` may stop the call.
      if (hasRun(outcome)) return outcome;
      usedIds.delete(call.toolUse.id);
      limit.setCount(usedIds.size, context);
      return outcome;
    },
  };
}

/** Returns whether a tool call ran: it was not rejected, and does not wait to be approved. */
function hasRun(outcome: ToolOutcome): boolean {
  if (isSuspension(outcome)) return outcome.kind !== 'approval';
  return hasResult(outcome) && outcome.state !== 'denied';
}

/**
 * Returns all open calls of the reply. With `deferRound`, the round has only a part of them. A
 * person may have given the result of one.
 */
function allCalls({ calls }: Round, { openCalls, tools }: RunContext): readonly OpenCall[] {
  const inRound = new Map(calls.map((call) => [call.toolUse.id, call]));
  return openCalls.map((openCall) => {
    const call = inRound.get(openCall.toolUse.id) ?? openCall;
    const result = call.result ?? decidedResult(call.toolUse, call.state, tools);
    return result ? { ...call, result } : call;
  });
}
