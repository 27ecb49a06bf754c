import type { ToolSchema } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { ForkOptions, ToolSet } from '../tool/tool-set.ts';

export interface SourcedToolsOptions {
  /** The tool that finds the other tools. */
  readonly search: Tool;
  /** Whether a tool is offered without a search. */
  readonly isFixed: (schema: ToolSchema) => boolean;
  /** Maximum number of found tools to offer at the same time. */
  readonly maxTools: number;
}

/** A tool set whose tools can be called only after a search found them. */
export class SourcedTools implements ToolSet {
  readonly #set: ToolSet;
  readonly #options: SourcedToolsOptions;
  /**
   * The number of the last find of each tool, by name. The order is that of the first find, so that
   * requests begin with the same text.
   */
  readonly #found: Map<string, number> = new Map();
  #finds = 0;
  #seen: readonly ToolSchema[] | undefined;
  #schemas: readonly ToolSchema[] = [];
  /** Names of tools that can be called although no search found them. */
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

  /** The tools to search. */
  get hidden(): readonly ToolSchema[] {
    return this.#set.schemas().filter((schema) => !this.#options.isFixed(schema));
  }

  /**
   * Offers tools from the next request on. If there are too many, drops those found longest ago.
   */
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
    return `Tool not available: ${name}. Search for it with ${search.name} first. You can call the tools that it finds from your next step on.`;
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
