import { checkOptions } from '../error/options/check-options.ts';
import { optional, strings } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { sortedJson } from '../message/json.ts';
import type { ToolResult } from '../message/msg.ts';
import type { Middleware, Run } from '../agent/middleware.ts';
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
 * Reuses the result of a successful tool call if the model repeats the tool call in the same run.
 * The tool does not run again. The next model requests have no tools, and a hint asks the model to
 * answer. Use `tools` to leave out tools that return a new result for the same arguments. Throws
 * `CONFIGURATION` for an option of the wrong kind. Source: Arc Reactor 6.
 */
export function reuseResults(options: ReuseResultsOptions = {}): Middleware {
  checkOptions('reuseResults()', options, reuseResultsOptions);
  const { tools } = options;
  const applies = (name: string, { tools: { added: addedTools } }: Run): boolean =>
    tools ? tools.includes(name) : !addedTools.some((added) => added.name === name);
  /** The successful results of a run, by tool and arguments. */
  const reuseOf = perRun(() => ({
    // Agents of a conversation may have different tools of one name.
    results: new Map<Tool | undefined, Map<string, ToolResult>>(),
    hasRepeated: false,
  }));
  return {
    name: 'reuseResults',
    wrapRequest: (draft, next, run) => {
      if (draft.limit || !reuseOf(run).hasRepeated) return next(draft);
      const messages = [...draft.messages, run.createMessage('user', hint)];
      run.tools.set(allowTools(run.tools.current, []));
      return next({ ...draft, messages, tools: run.tools.schemas });
    },
    wrapTool: async (call, next, run) => {
      const { toolUse } = call;
      if (!applies(toolUse.name, run)) return next(call);
      const reuse = reuseOf(run);
      // `call.tool` may be a copy that outer middleware made for this call.
      const tool = toolOf(run.tools.current, toolUse.name);
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
