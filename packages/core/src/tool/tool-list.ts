import { AgentError } from '../error/agent-error.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import type { Tool } from './tool.ts';
import type { ForkOptions, ToolSet } from './tool-set.ts';

/** Tools in a plain order, on top of another set where there is one. */
export class ToolList implements ToolSet {
  readonly #tools: ReadonlyMap<string, Tool>;
  #schemas: readonly ToolSchema[] | undefined;

  /** Throws `CONFIGURATION` where two tools have one name. */
  constructor(tools: Iterable<Tool> = [], _below?: ToolSet) {
    const byName = new Map<string, Tool>();
    for (const tool of tools) {
      if (byName.has(tool.name)) throw new AgentError('CONFIGURATION', `Two tools are named "${tool.name}".`);
      byName.set(tool.name, tool);
    }
    this.#tools = byName;
  }

  find(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  schemas(): readonly ToolSchema[] {
    return (this.#schemas ??= [...this.#tools.values()].map((tool) => tool.schema));
  }

  fork(_options?: ForkOptions): ToolSet {
    return new ToolList(this.#tools.values());
  }
}
