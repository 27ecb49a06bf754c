import type { ToolSchema } from '../../model/chat-model.ts';
import type { ContextEntry } from '../context-token.ts';
import type { Tool } from '../tool.ts';

export interface ForkOptions {
  /**
   * Whose value is used if a preset and the model both set a parameter. Default: `preset`. The
   * AgentScope document uses `model`.
   */
  readonly presetPriority?: 'preset' | 'model';
}

/**
 * Tools of one agent, as the agent's loop needs them. `Toolkit` is the implementation with tool
 * groups.
 */
export interface ToolSet<T extends Tool = Tool> {
  /** Type marker, never set. */
  readonly of?: () => T;
  /**
   * Returns the tool of that name. Returns a string with the reason if the tool exists but cannot
   * be called now. Returns `undefined` if no tool has the name.
   */
  find(name: string): Tool | string | undefined;
  /**
   * Returns the tools that the model may call now. Returns the same array until the tools change,
   * so callers can cache values that they derive from the array.
   */
  schemas(): readonly ToolSchema[];
  /**
   * Returns all tools, including tools that the model may not call now. Without this method,
   * callers know only the tools of `schemas`.
   */
  allTools?(): readonly Tool[];
  /** Returns a copy of the set that shares no state with the set. */
  fork(options?: ForkOptions): ToolSet;
  /**
   * Values for context tokens of the tools. A value for the same token from the agent or the agent
   * call replaces them.
   */
  readonly context?: Iterable<ContextEntry> | undefined;
  /** Returns the names of the active tool groups. Absent if the set has no groups. */
  activeGroups?: (() => readonly string[]) | undefined;
  /**
   * Activates these groups and deactivates all others. Throws `INVALID_INPUT` for an unknown group,
   * and changes nothing then.
   */
  setActiveGroups?: ((names: readonly string[]) => void) | undefined;
}

/**
 * Returns all tools of a set. If the set has no `allTools`, returns only the tools that the model
 * may call now.
 */
export function toolsIn(set: ToolSet): readonly Tool[] {
  if (set.allTools) return set.allTools();
  return set.schemas().flatMap(({ name }) => {
    const found = set.find(name);
    return typeof found === 'object' ? [found] : [];
  });
}

/** Returns a view of a tool set in which only the named tools can be called. */
export function allowTools(set: ToolSet, names: readonly string[]): ToolSet {
  return {
    context: set.context,
    find(name) {
      const tool = set.find(name);
      return tool && !names.includes(name) ? `Tool not allowed: ${name}.` : tool;
    },
    schemas: () => set.schemas().filter(({ name }) => names.includes(name)),
    fork: (options) => allowTools(set.fork(options), names),
  };
}
