import type { ToolSchema } from '../../model/chat-model.ts';
import type { ContextEntry } from '../context-token.ts';
import type { Tool } from '../tool.ts';
import { misconfigured } from '../../error/agent-error.ts';

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

/** What a view of a tool set shows. */
export interface ToolFilter {
  /** Returns the tools that the model may call, in their order. `all`: those of the whole set. */
  offered(all: readonly ToolSchema[]): readonly ToolSchema[];
  /** Returns why a tool of the set cannot be called, or nothing if it can. */
  refusal(tool: Tool): string | undefined;
}

/**
 * Returns a view of a tool set that shows a part of its tools. The view has the groups and the
 * context values of the set. The filter may change its mind between two calls.
 */
export function filteredTools(set: ToolSet, filter: ToolFilter): ToolSet {
  let shown: readonly ToolSchema[] = [];
  return {
    context: set.context,
    activeGroups: set.activeGroups?.bind(set),
    setActiveGroups: set.setActiveGroups?.bind(set),
    find(name) {
      const tool = set.find(name);
      return typeof tool === 'object' ? (filter.refusal(tool) ?? tool) : tool;
    },
    schemas() {
      const offered = filter.offered(set.schemas());
      const isSame =
        offered.length === shown.length &&
        offered.every((schema, index) => schema === shown[index]);
      if (!isSame) shown = offered;
      return shown;
    },
    fork: (options) => filteredTools(set.fork(options), filter),
  };
}

/** Returns a view of a tool set in which only the named tools can be called. */
export function allowTools(set: ToolSet, names: readonly string[]): ToolSet {
  return filteredTools(set, {
    offered: (all) => all.filter(({ name }) => names.includes(name)),
    refusal: ({ name }) => (names.includes(name) ? undefined : `Tool not allowed: ${name}.`),
  });
}

/** Tools in a fixed order. The tools of another set, `below`, can follow them. */
export class ToolList implements ToolSet {
  readonly #tools: Map<string, Tool> = new Map();
  readonly #below: ToolSet | undefined;
  /**
   * Last schemas of the set below. The initial value 0 differs from everything that a set returns.
   */
  #seen: unknown = 0;
  #schemas!: readonly ToolSchema[];
  readonly context: ToolSet['context'];
  readonly activeGroups: ToolSet['activeGroups'];
  readonly setActiveGroups: ToolSet['setActiveGroups'];

  /** Throws `CONFIGURATION` if two tools have the same name, or if a tool has a group. */
  constructor(tools: Iterable<Tool> = [], below?: ToolSet, options: ForkOptions = {}) {
    this.#below = below;
    this.activeGroups = below?.activeGroups?.bind(below);
    this.setActiveGroups = below?.setActiveGroups?.bind(below);
    this.context = below?.context;
    for (const tool of tools) {
      const { name } = tool;
      if (this.find(name)) throw misconfigured(`Two tools are named "${name}".`);
      if (tool.groups?.length)
        throw misconfigured(`The tool "${name}" has a group, which needs a Toolkit.`);
      this.#tools.set(name, tool.fork?.(options, this) ?? tool);
    }
  }

  find(name: string): Tool | string | undefined {
    return this.#tools.get(name) ?? this.#below?.find(name);
  }

  schemas(): readonly ToolSchema[] {
    const below = this.#below?.schemas();
    if (below !== this.#seen) {
      this.#schemas = [
        ...[...this.#tools.values()].map((tool) => tool.schema),
        ...(below?.filter(({ name }) => !this.#tools.get(name)) ?? []),
      ];
      this.#seen = below;
    }
    return this.#schemas;
  }

  allTools(): readonly Tool[] {
    return [...this.#tools.values(), ...(this.#below ? toolsIn(this.#below) : [])];
  }

  fork(options?: ForkOptions): ToolSet {
    return new ToolList(this.#tools.values(), this.#below?.fork(options), options);
  }
}
