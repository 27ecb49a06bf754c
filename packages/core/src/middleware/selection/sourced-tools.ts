import type { ToolSchema } from '../../model/chat-model.ts';
import { ToolList } from '../../tool/set/tool-list.ts';
import { viewOf, type ToolSet } from '../../tool/set/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';

export interface SourcedToolsOptions {
  /** Tool that finds the other tools. */
  readonly search: Tool;
  /** Whether a tool is offered without a search. */
  readonly isFixed: (schema: ToolSchema) => boolean;
  /** Maximum number of found tools to offer at the same time. */
  readonly maxTools: number;
}

/** Tools of a run that are hidden until a search finds them. Fixed tools are never hidden. */
export class SourcedTools {
  /** The search, and a view that offers the fixed tools and the found ones. */
  readonly tools: ToolSet;
  readonly #set: ToolSet;
  readonly #options: SourcedToolsOptions;
  /**
   * For each found tool, by name: the number of the search hit that found it last. Tools stay in
   * the order of their first hit, so that consecutive requests begin with the same text.
   */
  readonly #found: Map<string, number> = new Map();
  /** Number of search hits so far. */
  #finds = 0;
  /** Names of further tools that can be called, because an earlier run left calls to them open. */
  open: readonly string[] = [];

  /** Throws `CONFIGURATION` if the set has a tool with the name of the search. */
  constructor(set: ToolSet, options: SourcedToolsOptions) {
    this.#set = set;
    this.#options = options;
    const view = viewOf(set, {
      offered: (all) => this.#offered(all),
      refusal: (tool) => this.#refusal(tool),
    });
    this.tools = new ToolList([options.search], view);
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
    const newest = [...this.#found].toSorted((a, b) => b[1] - a[1]);
    for (const [name] of newest.slice(this.#options.maxTools)) this.#found.delete(name);
  }

  #offered(all: readonly ToolSchema[]): readonly ToolSchema[] {
    const { isFixed } = this.#options;
    const found = [...this.#found.keys()].flatMap(
      (name) => all.find((schema) => schema.name === name && !isFixed(schema)) ?? [],
    );
    return [...all.filter(isFixed), ...found];
  }

  #refusal({ name, schema }: Tool): string | undefined {
    const { search, isFixed } = this.#options;
    if (this.#found.has(name) || this.open.includes(name) || isFixed(schema)) return undefined;
    const refused = `Tool not available: ${name}. Search for it with ${search.name} first.`;
    return `${refused} You can call the tools that it finds from your next step on.`;
  }
}
