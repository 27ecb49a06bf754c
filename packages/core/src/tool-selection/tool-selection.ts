import type { ToolSchema } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { ForkOptions, ToolSet } from '../tool/tool-set.ts';

/** A set of which the tools of the next request can be chosen; until then all of them are. */
export class ToolSelection implements ToolSet {
  readonly #set: ToolSet;
  /** The names chosen, in the order the model is to see them. */
  #order: readonly string[] | undefined;
  #seen: readonly ToolSchema[] = [];
  #schemas: readonly ToolSchema[] = [];
  /** What the choice was made for. */
  key: string | undefined;
  /** Names of tools that can be called without having been chosen. */
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

  /** What there is to choose among. */
  get all(): readonly ToolSchema[] {
    return this.#set.schemas();
  }

  serverOf(name: string): string | undefined {
    const tool = this.#set.find(name);
    return typeof tool === 'object' ? tool.server : undefined;
  }

  /** `order`: the tools in the order of the request; `names`: those of them that are chosen. */
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
