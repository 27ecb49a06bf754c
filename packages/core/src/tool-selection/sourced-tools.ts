import type { ToolSchema } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { ForkOptions, ToolSet } from '../tool/tool-set.ts';

export interface SourcedToolsOptions {
  /** Finds the others. */
  readonly search: Tool;
  /** Whether a tool is offered without having been found. */
  readonly isFixed: (schema: ToolSchema) => boolean;
  /** Found tools that are offered at the same time. */
  readonly maxTools: number;
}

/** A set whose tools have to be found before they can be called. */
export class SourcedTools implements ToolSet {
  readonly #set: ToolSet;
  readonly #options: SourcedToolsOptions;
  /**
   * By name, when each was found last; in the order they were found first, so that requests begin
   * with the same text.
   */
  readonly #found: Map<string, number> = new Map();
  #finds = 0;
  #seen: readonly ToolSchema[] | undefined;
  #schemas: readonly ToolSchema[] = [];
  /** Names of tools that can be called without having been found. */
  open: readonly string[] = [];
  readonly context: ToolSet['context'];
  readonly activeGroups: ToolSet['activeGroups'];
  readonly setActiveGroups: ToolSet['setActiveGroups'];

  constructor(set: ToolSet, options: SourcedToolsOptions) {
    this.#set = set;
    this.#options = options;
    this.context = set.context;
    this.activeGroups = set.activeGroups?.bind(set);
    this.setActiveGroups = set.setActiveGroups?.bind(set);
  }

  /** What there is to search. */
  get hidden(): readonly ToolSchema[] {
    return this.#set.schemas().filter((schema) => !this.#options.isFixed(schema));
  }

  /** Offers these from the next request on; of too many those go that were found longest ago. */
  add(names: readonly string[]): void {
    for (const name of names) this.#found.set(name, (this.#finds += 1));
    for (const [name] of [...this.#found]
      .toSorted((a, b) => b[1] - a[1])
      .slice(this.#options.maxTools))
      this.#found.delete(name);
    this.#seen = undefined;
  }

  find(name: string): Tool | string | undefined {
    const { search, isFixed } = this.#options;
    if (name === search.name) return search;
    const tool = this.#set.find(name);
    if (
      typeof tool !== 'object' ||
      this.#found.has(name) ||
      this.open.includes(name) ||
      isFixed(tool.schema)
    )
      return tool;
    return `Tool not available: ${name}. Search for it with ${search.name} first; what that finds can be called from the next step on.`;
  }

  schemas(): readonly ToolSchema[] {
    const all = this.#set.schemas();
    if (all !== this.#seen) {
      const { search, isFixed } = this.#options;
      const found = [...this.#found.keys()].flatMap(
        (name) => all.find((schema) => schema.name === name && !isFixed(schema)) ?? [],
      );
      this.#seen = all;
      this.#schemas = [search.schema, ...all.filter(isFixed), ...found];
    }
    return this.#schemas;
  }

  fork(options?: ForkOptions): ToolSet {
    return new SourcedTools(this.#set.fork(options), this.#options);
  }
}
