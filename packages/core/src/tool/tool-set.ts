import type { ToolSchema } from '../model/chat-model.ts';
import type { ContextEntry } from './context-token.ts';
import type { Tool } from './tool.ts';

export interface ForkOptions {
  /**
   * Which value wins if a preset and the model both set a parameter. Default `preset` (law 9);
   * `model` is the order of the AgentScope document.
   */
  readonly presetPriority?: 'preset' | 'model';
}

/** Tools of one agent, as the loop needs them; `Toolkit` is the implementation with groups. */
export interface ToolSet {
  /**
   * Returns the tool of that name. A string means that the tool exists but cannot be called now,
   * and says why. `undefined` means that no such tool exists.
   */
  find(name: string): Tool | string | undefined;
  /**
   * Returns the tools that the model may call now. It returns the same array until something
   * changes, so callers can cache what they derive from it.
   */
  schemas(): readonly ToolSchema[];
  /** Returns a copy that shares no state. */
  fork(options?: ForkOptions): ToolSet;
  /** Values for the tools' tokens, used if the agent and the call provide no others. */
  readonly context?: Iterable<ContextEntry> | undefined;
  /** Returns the names of the active groups; absent if there are no groups. */
  activeGroups?: (() => readonly string[]) | undefined;
  /**
   * Activates exactly these groups. For an unknown group, throws `INVALID_INPUT` and changes
   * nothing.
   */
  setActiveGroups?: ((names: readonly string[]) => void) | undefined;
}
