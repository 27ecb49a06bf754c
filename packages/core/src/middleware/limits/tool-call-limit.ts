import { misconfigured } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { outputToolName } from '../../message/output-tool.ts';
import { interruptedResult, mayHaveStarted, toolResult } from '../../tool/tool-result.ts';
import type { Middleware, OpenCall } from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';
import { CallLimit, endAt, limitFields, type CallLimitOptions } from './call-limit.ts';

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
  const where = 'toolCallLimit()';
  if (tool === undefined && run !== undefined)
    throw misconfigured(
      `${where}: to limit all tools of a run, set \`limits.toolCalls\` of the agent.`,
    );
  const what = tool === undefined ? 'tool calls' : `calls of "${tool}"`;
  const key = tool === undefined ? 'toolCalls' : `toolCalls:${tool}`;
  const limit = new CallLimit(where, key, what, options);
  const counts = ({ name }: ToolUse): boolean =>
    tool === undefined ? name !== outputToolName : name === tool;
  // Hooks of an earlier run have seen other calls, which this limit has then admitted.
  const isNew = ({ toolUse, state, result }: OpenCall): boolean =>
    counts(toolUse) && !state.toolUse && !result;
  const usedIn = perRun(() => new Set<string>());
  return {
    name: tool === undefined ? 'toolCallLimit' : `toolCallLimit:${tool}`,
    wrapRound: (next) => async (round, context, steps) => {
      const { calls } = round;
      const words = limit.reachedBy(calls.filter(isNew).length, context);
      if (words === undefined) return next(round);
      for (const { toolUse, state } of calls) {
        const result = mayHaveStarted(state)
          ? interruptedResult(toolUse, state)
          : toolResult(toolUse, `It did not run. ${words}`, 'interrupted');
        await steps.conclude(toolUse, result);
      }
      return endAt(words, steps);
    },
    wrapTool: (next) => (call, context) => {
      if (counts(call.toolUse) && !mayHaveStarted(call.state)) {
        const used = usedIn(context);
        // An outer wrapper may run the call again.
        used.add(call.toolUse.id);
        limit.count(used.size, context);
      }
      return next(call);
    },
  };
}
