import type { ToolSchema } from '../model/chat-model.ts';
import type { ContextEntry } from './context-token.ts';
import type { Tool } from './tool.ts';

export interface ForkOptions {
  /**
   * Who wins where a preset and the model both set a parameter. Default `preset` (law 9); `model`
   * is the AgentScope document's order.
   */
  readonly presetPriority?: 'preset' | 'model';
}

/** The tools of one agent, as the loop needs them; `Toolkit` is the one with groups. */
export interface ToolSet {
  /**
   * The tool of that name. A text: it is there but can't be called now, and why. Nothing: there is
   * no such tool.
   */
  find(name: string): Tool | string | undefined;
  /**
   * What the model may call now; the same array while nothing changes, so that what is derived from
   * it can be cached.
   */
  schemas(): readonly ToolSchema[];
  /** A copy that shares no state. */
  fork(options?: ForkOptions): ToolSet;
  /** What its tools get for their tokens, where the agent and the call provide nothing else. */
  readonly context?: Iterable<ContextEntry> | undefined;
  /** Names of the groups that are switched on; absent where there are no groups. */
  activeGroups?: (() => readonly string[]) | undefined;
  /**
   * Switches on these groups and no other. Throws `INVALID_INPUT` for a name that is no group, and
   * changes nothing then.
   */
  setActiveGroups?: ((names: readonly string[]) => void) | undefined;
}
