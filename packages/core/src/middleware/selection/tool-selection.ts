import type { ToolSchema } from '../../model/chat-model.ts';
import { viewOf, type ToolSet } from '../../tool/set/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';

/** The chosen tools of a run. Before the first choice, the model gets all tools. */
export class ToolSelection {
  /** View that offers only the chosen tools. */
  readonly tools: ToolSet;
  readonly #set: ToolSet;
  /** Names of the chosen tools, in the order of the request. */
  #chosen: readonly string[] | undefined;
  /** Text that identifies the question and the tools of the last choice. */
  key: string | undefined;

  constructor(set: ToolSet) {
    this.#set = set;
    this.tools = viewOf(set, {
      offered: (all) => this.#offered(all),
      refusal: ({ name }) => this.#refusal(name),
    });
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
    this.#chosen = order.flatMap(({ name }) => (names.includes(name) ? name : []));
  }

  #offered(all: readonly ToolSchema[]): readonly ToolSchema[] {
    if (!this.#chosen) return all;
    return this.#chosen.flatMap((name) => all.find((schema) => schema.name === name) ?? []);
  }

  #refusal(name: string): string | undefined {
    if (!this.#chosen || this.#chosen.includes(name)) return undefined;
    return `Tool not available: ${name}. It is not among the tools of this request.`;
  }
}
