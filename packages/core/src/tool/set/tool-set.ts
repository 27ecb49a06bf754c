import type { ToolSchema } from '../../model/chat-model.ts';
import type { ContextEntry } from '../context-token.ts';
import type { Tool } from '../tool.ts';
import { misconfigured, type AgentError } from '../../error/agent-error.ts';
import { array, withMethod } from '../../error/options/kinds.ts';
import { checkFields } from '../../error/options/check-fields.ts';

/** What changes in the copy of the tools that an agent gets. */
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
  readonly '~types'?: () => T;
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
  /**
   * Returns a promise that resolves when the set has read a change of its tools, such as one that a
   * server has reported. Returns nothing if the set knows of no change. The agent waits for the
   * promise before each model request. It never rejects, and resolves if the signal aborts.
   */
  whenListed?(signal: AbortSignal): Promise<void> | undefined;
  /** Returns a copy of the set that shares no state with the set. */
  fork(options?: ForkOptions): ToolSet;
  /**
   * Values for context tokens of the tools. A value for the same token from the agent or the agent
   * call replaces them.
   */
  readonly toolContext?: Iterable<ContextEntry> | undefined;
  /** Returns the names of the active tool groups. Absent if the set has no groups. */
  activeGroups?: (() => readonly string[]) | undefined;
  /**
   * Activates these groups and deactivates all others. Throws `INVALID_INPUT` for an unknown group,
   * and changes nothing then.
   */
  setActiveGroups?: ((names: readonly string[]) => void) | undefined;
}

/** Returns the tool of this name. Returns nothing if there is none, or it cannot be called now. */
export function toolOf(set: ToolSet, name: string): Tool | undefined {
  const found = set.find(name);
  return typeof found === 'object' ? found : undefined;
}

/**
 * Returns all tools of a set. If the set has no `allTools`, returns only the tools that the model
 * may call now.
 */
export function toolsIn(set: ToolSet): readonly Tool[] {
  if (set.allTools) return set.allTools();
  return set.schemas().flatMap(({ name }) => toolOf(set, name) ?? []);
}

/** Returns the methods of a set that switch its groups, for a set that contains it. */
export function groupsOf(set: ToolSet): Pick<ToolSet, 'activeGroups' | 'setActiveGroups'> {
  return {
    activeGroups: set.activeGroups?.bind(set),
    setActiveGroups: set.setActiveGroups?.bind(set),
  };
}

/** Returns a promise that resolves when `whenListed` of each set has resolved. */
export function whenAllListed(
  sets: readonly ToolSet[],
  signal: AbortSignal,
): Promise<void> | undefined {
  const waits = sets.flatMap((set) => set.whenListed?.(signal) ?? []);
  return waits.length ? Promise.all(waits).then(() => {}) : undefined;
}

/** What a view of a tool set shows. */
interface ToolFilter {
  /**
   * Returns the tools that the model may call, in their order, of those of the whole set.
   * Default: those without a refusal.
   */
  offeredTools?(schemas: readonly ToolSchema[]): readonly ToolSchema[];
  /** Returns why a tool of the set cannot be called, or nothing if it can. */
  refusal(tool: Tool): string | undefined;
}

/**
 * Returns a view of a tool set that shows a part of its tools. The view has the groups and the
 * context values of the set. The filter may change its mind between two calls.
 */
export function filteredTools(set: ToolSet, filter: ToolFilter): ToolSet {
  const stable = stableList();
  const view: ToolSet = {
    ...groupsOf(set),
    toolContext: set.toolContext,
    find(name) {
      const tool = set.find(name);
      return typeof tool === 'object' ? (filter.refusal(tool) ?? tool) : tool;
    },
    schemas() {
      const schemas = set.schemas();
      return stable(
        filter.offeredTools?.(schemas) ?? schemas.filter(({ name }) => toolOf(view, name)),
      );
    },
    allTools: () => toolsIn(set),
    whenListed: (signal) => set.whenListed?.(signal),
    fork: (options) => filteredTools(set.fork(options), filter),
  };
  return view;
}

/** Returns a function that returns the list before again, as long as the schemas are the same. */
function stableList(): (schemas: readonly ToolSchema[]) => readonly ToolSchema[] {
  let last: readonly ToolSchema[] = [];
  return (schemas) => {
    const isSame =
      schemas.length === last.length && schemas.every((schema, index) => schema === last[index]);
    if (!isSame) last = schemas;
    return last;
  };
}

/**
 * Returns a view of a tool set in which only the named tools can be called. Tools with
 * `givesAnswer`, such as the one of `structured()`, stay.
 */
export function allowTools(set: ToolSet, names: readonly string[]): ToolSet {
  checkFields('allowTools()', { set, names }, toolsAndNames);
  return filteredTools(set, {
    refusal: ({ name, givesAnswer }) =>
      givesAnswer || names.includes(name) ? undefined : `Tool not allowed: ${name}.`,
  });
}

const toolsAndNames = { set: withMethod('find'), names: array };

/**
 * Returns a set of tools in a fixed order, without groups. Throws `CONFIGURATION` if two tools have
 * the same name, or if a tool has a group.
 */
export function toolList(tools: Iterable<Tool>, options: ForkOptions = {}): ToolSet {
  const byName = new Map<string, Tool>();
  const set: ToolSet = {
    find: (name) => byName.get(name),
    schemas: () => schemas,
    fork: (changes) => toolList(byName.values(), changes),
  };
  for (const tool of tools) {
    const { name } = tool;
    if (byName.has(name)) throw duplicateToolError(name);
    if (tool.groups?.length)
      throw misconfigured(
        `The tool "${name}" has a group, which needs a Toolkit: ` +
          'tools: new Toolkit(tools, { groups }).',
      );
    byName.set(name, tool.fork?.(options, set) ?? tool);
  }
  const schemas = [...byName.values()].map(({ schema }) => schema);
  return set;
}

/**
 * Returns a set of the tools of two sets. If both have a tool of the same name, it has the one of
 * the first set. At most one of the sets has groups.
 */
export function joinedTools(first: ToolSet, second: ToolSet): ToolSet {
  const stable = stableList();
  return {
    ...groupsOf(first.activeGroups ? first : second),
    toolContext: [...(first.toolContext ?? []), ...(second.toolContext ?? [])],
    find: (name) => first.find(name) ?? second.find(name),
    schemas() {
      // `find` also knows tools of inactive groups, so an inactive tool still reserves its name.
      const others = second.schemas().filter(({ name }) => !first.find(name));
      return stable([...first.schemas(), ...others]);
    },
    allTools: () => [...toolsIn(first), ...toolsIn(second)],
    whenListed: (signal) => whenAllListed([first, second], signal),
    fork: (options) => joinedTools(first.fork(options), second.fork(options)),
  };
}

/**
 * Returns a set that has these tools before those of another set. Throws `CONFIGURATION` if two of
 * them have the same name.
 */
export function toolsBefore(set: ToolSet, tools: readonly Tool[]): ToolSet {
  const same = tools.find(({ name }) => set.find(name));
  if (same) throw duplicateToolError(same.name);
  return joinedTools(toolList(tools), set);
}

export function duplicateToolError(name: string): AgentError {
  return misconfigured(
    `Two tools are named "${name}". Give one another name. ` +
      'The tools of an MCP server get other names with `prefix` of mcpTools().',
  );
}
