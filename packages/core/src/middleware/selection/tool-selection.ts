import type { ToolSchema } from '../../model/chat-model.ts';
import type { Tool } from '../../tool/tool.ts';
import type { ForkOptions, ToolSet } from '../../tool/set/tool-set.ts';

/** Tool set that offers only the chosen tools. Before the first choice it offers all tools. */
export class ToolSelection implements ToolSet {
  readonly #set: ToolSet;
  /** Names of the chosen tools, in the order of the request. */
  #order: readonly string[] | undefined;
  #seen: readonly ToolSchema[] = [];
  #schemas: readonly ToolSchema[] = [];
  /** Text that identifies the question and the tools of the last choice. */
  key: string | undefined;
  /** Names of further tools that can be called, because an earlier run left calls to them open. */
  open: readonly string[] = [];
  readonly context: ToolSet['context'];
  readonly activeGroups: ToolSet['activeGroups'];
  readonly setActiveGroups: ToolSet['setActiveGroups'];

  constructor(set: ToolSet) {
    this.#set = set;
    this.context = set.context;
    this.activeGroups = set.activeGroups?.bind(set);
    this.setActiveGroups = set.setActiveGroups?.bind(set);
  }

  /** All tools to choose from. */
  get all(): readonly ToolSchema[] {
    return this.#set.schemas();
  }

  /** Returns the tool of that name, chosen or not. */
  toolOf(name: string): Tool | undefined {
    const tool = this.#set.find(name);
    return typeof tool === 'object' ? tool : undefined;
  }

  /**
   * Sets the chosen tools. `order`: all tools in the order of the request. `names`: names of the
   * chosen tools. `key`: identifies the question and the tools.
   */
  choose(key: string, order: readonly ToolSchema[], names: readonly string[]): void {
    this.key = key;
    const chosen = order.flatMap(({ name }) => (names.includes(name) ? name : []));
    if (JSON.stringify(chosen) === JSON.stringify(this.#order)) return;
    this.#order = chosen;
    this.#seen = [];
  }

  find(name: string): Tool | string | undefined {
    const tool = this.#set.find(name);
    if (
      typeof tool !== 'object' ||
      !this.#order ||
      this.#order.includes(name) ||
      this.open.includes(name)
    )
      return tool;
    return `Tool not available: ${name}. It is not among the tools of this request.`;
  }

  schemas(): readonly ToolSchema[] {
    const { all } = this;
    if (!this.#order) return all;
    const isSame =
      all.length === this.#seen.length &&
      all.every((schema, index) => schema === this.#seen[index]);
    if (!isSame || !this.#seen.length) {
      this.#seen = all;
      this.#schemas = this.#order.flatMap(
        (name) => all.find((schema) => schema.name === name) ?? [],
      );
    }
    return this.#schemas;
  }

  fork(options?: ForkOptions): ToolSet {
    return new ToolSelection(this.#set.fork(options));
  }
}
