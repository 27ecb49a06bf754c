import { AgentError } from '../error/agent-error.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import type { Tool } from './tool.ts';

/** The tools of one agent. An agent forks the one it is given, so that none shares state with another. */
export class Toolkit {
  readonly #tools: ReadonlyMap<string, Tool>;
  #schemas: readonly ToolSchema[] | undefined;

  /** Throws `CONFIGURATION` where two tools have one name. */
  constructor(tools: Iterable<Tool> = []) {
    const byName = new Map<string, Tool>();
    for (const tool of tools) {
      if (byName.has(tool.name)) throw new AgentError('CONFIGURATION', `Two tools are named "${tool.name}".`);
      byName.set(tool.name, tool);
    }
    this.#tools = byName;
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** In the order the tools were given; the same array each time, so that what is derived from it can be cached. */
  schemas(): readonly ToolSchema[] {
    return (this.#schemas ??= [...this.#tools.values()].map((tool) => tool.schema));
  }

  fork(): Toolkit {
    return new Toolkit(this.#tools.values());
  }
}
