import { misconfigured } from '../../error/agent-error.ts';
import type { ToolSchema } from '../../model/chat-model.ts';
import type { Tool } from '../tool.ts';
import { toolsIn, type ForkOptions, type ToolSet } from './tool-set.ts';

/** Tools in a fixed order. The tools of another set, `below`, can follow them. */
export class ToolList implements ToolSet {
  readonly #tools: Map<string, Tool> = new Map();
  readonly #below: ToolSet | undefined;
  /**
   * Last schemas of the set below. The initial value 0 differs from everything that a set returns.
   */
  #seen: unknown = 0;
  #schemas!: readonly ToolSchema[];
  readonly context: ToolSet['context'];
  readonly activeGroups: ToolSet['activeGroups'];
  readonly setActiveGroups: ToolSet['setActiveGroups'];

  /** Throws `CONFIGURATION` if two tools have the same name, or if a tool has a group. */
  constructor(tools: Iterable<Tool> = [], below?: ToolSet, options: ForkOptions = {}) {
    this.#below = below;
    this.activeGroups = below?.activeGroups?.bind(below);
    this.setActiveGroups = below?.setActiveGroups?.bind(below);
    this.context = below?.context;
    for (const tool of tools) {
      const { name } = tool;
      if (this.find(name)) throw misconfigured(`Two tools are named "${name}".`);
      if (tool.groups?.length)
        throw misconfigured(`The tool "${name}" has a group, which needs a Toolkit.`);
      this.#tools.set(name, tool.fork?.(options, this) ?? tool);
    }
  }

  find(name: string): Tool | string | undefined {
    return this.#tools.get(name) ?? this.#below?.find(name);
  }

  schemas(): readonly ToolSchema[] {
    const below = this.#below?.schemas();
    if (below !== this.#seen) {
      this.#schemas = [
        ...[...this.#tools.values()].map((tool) => tool.schema),
        ...(below?.filter(({ name }) => !this.#tools.get(name)) ?? []),
      ];
      this.#seen = below;
    }
    return this.#schemas;
  }

  allTools(): readonly Tool[] {
    return [...this.#tools.values(), ...(this.#below ? toolsIn(this.#below) : [])];
  }

  fork(options?: ForkOptions): ToolSet {
    return new ToolList(this.#tools.values(), this.#below?.fork(options), options);
  }
}
