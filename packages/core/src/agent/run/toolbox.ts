import { errorText } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/msg.ts';
import type { ToolSchema } from '../../model/chat-model.ts';
import { toolsBefore, type ToolSet } from '../../tool/set/tool-set.ts';
import { prepareCall, type PreparedCall } from '../../tool/tool-call.ts';
import type { Tool } from '../../tool/tool.ts';
import type { BoundedWaits } from '../../wait/bounded/bounded-waits.ts';
import type { Halt } from '../../wait/halt.ts';
import { requireMiddlewareOf } from '../check-agent-options.ts';
import type { RunSetup } from './run-setup.ts';

/** The parts of a run that its tools need. */
interface ToolboxParts {
  readonly setup: RunSetup;
  readonly halt: Halt;
  readonly waits: BoundedWaits;
}

/** The tools of a run, and the values that the tools look up. */
export class Toolbox {
  current: ToolSet;
  /** Values for tools, by `ContextToken`. */
  readonly context: ReadonlyMap<object, unknown>;
  readonly #addedTools: Tool[] = [];
  readonly #parts: ToolboxParts;

  constructor(parts: ToolboxParts, callContext: Iterable<readonly [object, unknown]> = []) {
    const { options, tools } = parts.setup;
    this.#parts = parts;
    this.current = tools;
    this.context = new Map([
      ...(tools.toolContext ?? []),
      ...(options.toolContext ?? []),
      ...callContext,
    ]);
  }

  /** Schemas of the tools that the model may call now. */
  get schemas(): readonly ToolSchema[] {
    return this.#parts.setup.model.features.tools ? this.current.schemas() : [];
  }

  /** The tools that are not the agent's own. */
  get added(): readonly Tool[] {
    return [...this.#addedTools, ...this.#parts.setup.use.flatMap(({ tools }) => tools ?? [])];
  }

  add(tools: readonly Tool[]): void {
    this.current = toolsBefore(this.current, tools);
    this.#addedTools.push(...tools);
  }

  /** Finds the tool of a call and validates the input. The result names a problem of the call. */
  async prepare(toolUse: ToolUse): Promise<PreparedCall> {
    const { setup, halt, waits } = this.#parts;
    try {
      const prepared = await waits.forCode(prepareCall(this.current, toolUse));
      if (prepared.ok) requireMiddlewareOf(prepared.tool, setup.use);
      return prepared;
    } catch (error) {
      if (halt.isAbort(error)) throw error;
      // If a schema throws, only this tool call fails.
      return { ok: false, problem: errorText(error), toolUse };
    }
  }
}
