import type { ToolSchema } from '../../model/chat-model.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';
import type { LiveRun } from '../run/live-run.ts';

/** The tools of a run. */
export interface RunTools {
  /** The tools that the run has now. Works everywhere. */
  readonly current: ToolSet;
  /**
   * Schemas of the tools that the model may call now. Empty if the model does not support tools.
   * Works everywhere.
   */
  readonly schemas: readonly ToolSchema[];
  /**
   * The tools in `current` that are not the agent's own: those of `add()`, then those in the member
   * `tools` of middleware. A middleware that replaces the agent's tools leaves them alone. Works
   * everywhere.
   */
  readonly added: readonly Tool[];
  /** Values that the agent call and the agent provide, by `ContextToken`. Works everywhere. */
  readonly context: ReadonlyMap<object, unknown>;
  /**
   * Adds tools for this run. The call's `allowTools` and what other middleware has set do not hide
   * them. Works in wrappers, hooks and tools. Throws `CONFIGURATION` if the run has another tool of
   * the same name.
   */
  add(tools: readonly Tool[]): void;
  /**
   * Replaces the tools of this run. Works in wrappers, hooks and tools. In `wrapRequest`, pass the
   * new `schemas` to `next`: the draft has the schemas of before.
   *
   * @example
   * wrapRequest(draft, next, run) {
   *   run.tools.set(allowTools(run.tools.current, ['search']));
   *   return next({ ...draft, tools: run.tools.schemas });
   * },
   */
  set(tools: ToolSet): void;
}

/** Returns the tools of a run. */
export function toolsOf(run: LiveRun): RunTools {
  return {
    get current() {
      return run.tools.current;
    },
    get schemas() {
      return run.tools.schemas;
    },
    get added() {
      return run.tools.added;
    },
    context: run.tools.context,
    add: (tools) => run.alive().tools.add(tools),
    set(tools) {
      run.alive().tools.current = tools;
    },
  };
}
