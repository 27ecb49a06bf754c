import { misconfigured, checkFields } from '../../error/agent-error.ts';
import type { ToolSchema } from '../../model/chat-model.ts';
import { ToolList, toolsIn, type ForkOptions, type ToolSet } from './tool-set.ts';
import type { Tool, GivenTools, ToolsOf } from '../tool.ts';

/**
 * Joins several sources of tools in the given order. A source is an array of tools, a `Toolkit` or
 * the tools of MCP servers. If a source later adds a tool whose name an earlier source has, the
 * earlier source's tool is used. A server therefore cannot replace your own tool. Throws
 * `CONFIGURATION` if two tools have the same name from the start, or if more than one source has
 * tool groups.
 */
export function joinTools<const G extends readonly GivenTools[]>(
  ...sources: G
): ToolSet<ToolsOf<G[number]>> {
  for (const source of sources) checkFields('joinTools()', { source }, 'source:array|schemas()');
  const sets = sources.map((source) => (Symbol.iterator in source ? new ToolList(source) : source));
  const names = new Set<string>();
  for (const { name } of sets.flatMap((set) => set.schemas())) {
    if (names.has(name)) throw misconfigured(`Two tools are named "${name}".`);
    names.add(name);
  }
  if (sets.filter((set) => set.activeGroups).length > 1)
    throw misconfigured('Only one source of tools can have groups.');
  return new JoinedTools(sets) as ToolSet as ToolSet<ToolsOf<G[number]>>;
}

class JoinedTools implements ToolSet {
  readonly #sets: readonly ToolSet[];
  #seen: readonly (readonly ToolSchema[])[] = [];
  #schemas: readonly ToolSchema[] = [];
  readonly context: ToolSet['context'];
  readonly activeGroups: ToolSet['activeGroups'];
  readonly setActiveGroups: ToolSet['setActiveGroups'];

  constructor(sets: readonly ToolSet[]) {
    const grouped = sets.find((set) => set.activeGroups);
    this.#sets = sets;
    this.context = sets.flatMap((set) => [...(set.context ?? [])]);
    this.activeGroups = grouped?.activeGroups?.bind(grouped);
    this.setActiveGroups = grouped?.setActiveGroups?.bind(grouped);
  }

  find(name: string): Tool | string | undefined {
    for (const set of this.#sets) {
      const found = set.find(name);
      if (found) return found;
    }
    return undefined;
  }

  schemas(): readonly ToolSchema[] {
    const parts = this.#sets.map((set) => set.schemas());
    if (
      parts.length !== this.#seen.length ||
      parts.some((part, index) => part !== this.#seen[index])
    ) {
      this.#seen = parts;
      const byName = new Map<string, ToolSchema>();
      // `find` also knows tools of inactive groups, so an inactive tool still reserves its name.
      for (const [index, part] of parts.entries()) {
        for (const schema of part) {
          const isTaken = this.#sets.slice(0, index).some((set) => set.find(schema.name));
          if (!isTaken) byName.set(schema.name, schema);
        }
      }
      this.#schemas = [...byName.values()];
    }
    return this.#schemas;
  }

  allTools(): readonly Tool[] {
    return this.#sets.flatMap(toolsIn);
  }

  fork(options?: ForkOptions): ToolSet {
    return new JoinedTools(this.#sets.map((set) => set.fork(options)));
  }
}
