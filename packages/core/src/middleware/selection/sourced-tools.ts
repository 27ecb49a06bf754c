import type { ToolSchema } from '../../model/chat-model.ts';
import type { Tool } from '../../tool/tool.ts';
import type { ForkOptions, ToolSet } from '../../tool/set/tool-set.ts';

export interface SourcedToolsOptions {
  /** Tool that finds the other tools. */
  readonly search: Tool;
  /** Whether a tool is offered without a search. */
  readonly isFixed: (schema: ToolSchema) => boolean;
  /** Maximum number of found tools to offer at the same time. */
  readonly maxTools: number;
}

/** Tool set that hides its tools until a search finds them. Fixed tools are never hidden. */
export class SourcedTools implements ToolSet {
  readonly #set: ToolSet;
  readonly #options: SourcedToolsOptions;
  /**
   * For each found tool, by name: the number of the search hit that found it last. Tools stay in
   * the order of their first hit, so that consecutive requests begin with the same text.
   */
  readonly #found: Map<string, number> = new Map();
  /** Number of search hits so far. */
  #finds = 0;
  #seen: readonly ToolSchema[] | undefined;
  #schemas: readonly ToolSchema[] = [];
  /** Names of further tools that can be called, because an earlier run left calls to them open. */
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

  /** Tools that a search can find: all except the fixed tools. */
  get hidden(): readonly ToolSchema[] {
    return this.#set.schemas().filter((schema) => !this.#options.isFixed(schema));
  }

  /**
   * Offers found tools from the next request on. If there are more than `maxTools`, drops the tools
   * that were found longest ago.
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
