import type { Middleware, OpenCall, Round, Run } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';
import { misconfigured } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { ToolUse } from '../message/msg.ts';
import { toolOf } from '../tool/set/tool-set.ts';
import {
  hasResult,
  interruptedResult,
  isSuspension,
  mayHaveStarted,
  toolResult,
  type ToolOutcome,
} from '../tool/tool-call.ts';
import { callLimit, limitEnding, callLimitOptions, type CallLimitOptions } from './call-limit.ts';

/** Which tool calls to count, and how many are allowed. */
export interface ToolCallLimitOptions extends CallLimitOptions {
  /** Name of the tool whose calls count. Default: all tools. */
  readonly tool?: string;
}

/**
 * Limits the calls of one tool in a run or in a session, or all tool calls of a session. The count
 * is part of the session's state. If a reply asks for too many tool calls, none of them runs. Their
 * results have the state `interrupted` and a text that names the limit. A tool call counts once,
 * right before it runs. A tool call of `structured()` does not count toward a limit of all tools.
 * Throws `CONFIGURATION` without a limit, or if `run` is set without `tool`. To limit all tools in
 * a run, use the agent's `limits.toolCalls`. Source: Spring AI Alibaba, `ToolCallLimitHook`.
 */
export function toolCallLimit(options: ToolCallLimitOptions): Middleware {
  checkOptions('toolCallLimit()', options, toolCallLimitOptions);
  const { tool } = options;
  if (tool === undefined && options.run !== undefined)
    throw misconfigured('To limit all tool calls of a run, set `limits.toolCalls` of the agent.');
  const what = tool === undefined ? 'tool calls' : `calls of "${tool}"`;
  const key = tool === undefined ? 'toolCalls' : `toolCalls:${tool}`;
  const limit = callLimit(key, what, options);
  const counts = ({ name }: ToolUse, { tools }: Run): boolean =>
    tool === undefined ? !toolOf(tools.current, name)?.givesAnswer : name === tool;
  // Hooks have seen other calls, which this limit has then admitted.
  const isUncounted = ({ toolUse, state, result }: OpenCall, run: Run): boolean =>
    counts(toolUse, run) && !state.toolUse && !result;
  const usedIn = perRun(() => new Set<string>());
  return {
    name: tool === undefined ? 'toolCallLimit' : `toolCallLimit:${tool}`,
    wrapRound: async (round, next, run) => {
      const calls = allCalls(round, run);
      const newCalls = calls.filter((call) => isUncounted(call, run));
      const excess = limit.excess(newCalls.length, run);
      if (!excess) return next(round);
      if (options.atLimit === 'fail') throw excess;
      for (const { toolUse, state, result } of calls) {
        const closedResult = mayHaveStarted(state)
          ? interruptedResult(toolUse, state)
          : toolResult(toolUse, `It did not run. ${excess.message}`, 'interrupted');
        await run.calls.close(toolUse, result ?? closedResult);
      }
      return limitEnding(excess.message, run);
    },
    wrapTool: async (call, next, run) => {
      if (!counts(call.toolUse, run) || mayHaveStarted(call.state)) return next(call);
      const usedIds = usedIn(run);
      // An outer wrapper may run the call again.
      usedIds.add(call.toolUse.id);
      limit.setCount(usedIds.size, run);
      // Counted before, so that the log has the count if the process dies while the tool runs.
      const outcome = await next(call);
      // An inner `approvals()` may stop the call.
      if (ran(outcome)) return outcome;
      usedIds.delete(call.toolUse.id);
      limit.setCount(usedIds.size, run);
      return outcome;
    },
  };
}

const toolCallLimitOptions: OptionTable<ToolCallLimitOptions> = {
  ...callLimitOptions,
  tool: optional(string),
};

/** Returns whether a tool call ran: it was not rejected, and does not wait to be approved. */
function ran(outcome: ToolOutcome): boolean {
  if (isSuspension(outcome)) return outcome.kind !== 'approval';
  return hasResult(outcome) && outcome.state !== 'denied';
}

/** Returns all open calls of the reply. With `deferRound`, the round has only a part of them. */
function allCalls(round: Round, { calls }: Run): readonly OpenCall[] {
  const inRound = new Map(round.calls.map((call) => [call.toolUse.id, call]));
  return calls.open.map((call) => inRound.get(call.toolUse.id) ?? call);
}
