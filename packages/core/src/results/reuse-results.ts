import { checkOptions } from '../error/check-options.ts';
import { optional, strings } from '../error/kinds.ts';
import type { OptionTable } from '../error/option-table.ts';
import { sortedJson } from '../message/json.ts';
import type { ToolResult } from '../message/msg.ts';
import type { Middleware, RunContext } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';
import { allowTools, toolOf } from '../tool/set/tool-set.ts';
import type { Tool } from '../tool/tool.ts';
import { hasResult } from '../tool/tool-call.ts';

/** Which tool calls `reuseResults()` answers again. */
export interface ReuseResultsOptions {
  /** Names of the tools whose results are reused. Default: all tools but those of middleware. */
  readonly tools?: readonly string[];
}

/**
 * Reuses the result of a successful tool call if the model repeats the tool call in the same run
 * (Arc Reactor 6). The tool does not run again. The next model requests have no tools, and a hint
 * asks the model to answer. Use `tools` to leave out tools that return a new result for the same
 * arguments. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function reuseResults(options: ReuseResultsOptions = {}): Middleware {
  checkOptions('reuseResults()', options, reuseResultsOptions);
  const { tools } = options;
  const applies = (name: string, { addedTools }: RunContext): boolean =>
    tools ? tools.includes(name) : !addedTools.some((added) => added.name === name);
  /** The successful results of a run, by tool and arguments. */
  const reuseOf = perRun(() => ({
    // Agents of a conversation may have different tools of one name.
    results: new Map<Tool | undefined, Map<string, ToolResult>>(),
    hasRepeated: false,
  }));
  return {
    name: 'reuseResults',
    wrapRequest: (next) => (draft, context, steps) => {
      if (draft.limit || !reuseOf(context).hasRepeated) return next(draft);
      const messages = [...draft.messages, steps.message('user', hint)];
      context.setTools(allowTools(context.tools, []));
      return next({ ...draft, messages, tools: context.toolSchemas });
    },
    wrapTool: (next) => async (call, context) => {
      const { toolUse } = call;
      if (!applies(toolUse.name, context)) return next(call);
      const reuse = reuseOf(context);
      // `call.tool` may be a copy that outer middleware made for this call.
      const tool = toolOf(context.tools, toolUse.name);
      const results = reuse.results.get(tool) ?? new Map<string, ToolResult>();
      reuse.results.set(tool, results);
      const key = sortedJson(toolUse.input);
      const earlier = results.get(key);
      if (earlier) {
        reuse.hasRepeated = true;
        return earlier;
      }
      const result = await next(call);
      if (hasResult(result) && result.state === 'success') results.set(key, result);
      return result;
    },
  };
}

const reuseResultsOptions: OptionTable<ReuseResultsOptions> = { tools: optional(strings) };

const hint = 'You made this tool call before. Answer now, from the results that you have.';
