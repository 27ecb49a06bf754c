import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import { outputToolName } from '../../message/output-tool.ts';
import { CallLimit, limitFields, lastPriority, type CallLimitOptions } from './call-limit.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';

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
  checkOptions('CONFIGURATION', 'toolCallLimit()', options, `${limitFields} tool:string|?`);
  const { tool, run } = options;
  if (tool === undefined && run !== undefined) {
    const message =
      'toolCallLimit(): to limit all tools of a run, set `limits.toolCalls` of the agent.';
    throw new AgentError('CONFIGURATION', message);
  }
  const what = tool === undefined ? 'tool calls' : `calls of "${tool}"`;
  const limit = new CallLimit(
    'toolCallLimit()',
    tool === undefined ? 'toolCalls' : `toolCalls:${tool}`,
    what,
    options,
  );
  const counts = ({ name }: { readonly name: string }): boolean =>
    tool === undefined ? name !== outputToolName : name === tool;
  const stateOf = perRun(
    (): { refused?: { readonly words: string; readonly ids: readonly string[] } } => ({}),
  );
  return {
    name: tool === undefined ? 'toolCallLimit' : `toolCallLimit:${tool}`,
    onError: 'fail',
    wrapRun: (next) => limit.wrapRun(next),
    // These hooks run after other hooks, so that they count the replies and tool calls that other
    // hooks return.
    on: {
      'run-start': (event) => limit.begin(event),
      'run-end': (event) => limit.end(event),
      'post-reasoning': {
        priority: lastPriority,
        handle(event, control, context) {
          const calls = toolUsesOf(event.message);
          const count = calls.filter(counts).length;
          const words = limit.check(event, control, count, `${event.runId}:${event.seq}`);
          if (words !== undefined)
            stateOf(context).refused = { words, ids: calls.map(({ id }) => id) };
        },
      },
      'pre-acting': {
        priority: lastPriority,
        handle(event) {
          if (!event.problem && counts(event.toolUse)) limit.add(event, event.toolUse.id);
        },
      },
      'post-acting': {
        priority: lastPriority,
        handle(event, _control, context) {
          const { words, ids } = stateOf(context).refused ?? {};
          if (event.result.state !== 'interrupted' || !ids?.includes(event.toolUse.id)) return;
          return { ...event, result: { ...event.result, output: `It did not run. ${words}` } };
        },
      },
    },
  };
}
