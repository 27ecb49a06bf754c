import type { ChatModel, ToolSchema } from '../../model/chat-model.ts';
import { toolsBefore, type ToolSet } from '../../tool/set/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';
import type { RunSetup } from './run-setup.ts';

/** The tools of a run, and the values that the tools look up. */
export class Toolbox {
  current: ToolSet;
  /** Values for tools, by `ContextToken`. */
  readonly context: ReadonlyMap<object, unknown>;
  readonly #addedTools: Tool[] = [];
  readonly #setup: Pick<RunSetup, 'use'> & { readonly model: Pick<ChatModel, 'features'> };

  constructor(setup: RunSetup, callContext: Iterable<readonly [object, unknown]> = []) {
    const { options, tools } = setup;
    this.#setup = setup;
    this.current = tools;
    this.context = new Map([
      ...(tools.toolContext ?? []),
      ...(options.toolContext ?? []),
      ...callContext,
    ]);
  }

  /** Schemas of the tools that the model may call now. */
  get schemas(): readonly ToolSchema[] {
    return this.#setup.model.features.tools ? this.current.schemas() : [];
  }

  /** The tools that are not the agent's own. */
  get added(): readonly Tool[] {
    return [...this.#addedTools, ...this.#setup.use.flatMap(({ tools }) => tools ?? [])];
  }

  add(tools: readonly Tool[]): void {
    this.current = toolsBefore(this.current, tools);
    this.#addedTools.push(...tools);
  }
}
