import type { ToolUse } from '../message/content-block.ts';
import type { Decision, PendingCall } from './pending-call.ts';

/** State of a tool call that has no result yet. Plain JSON. The agent keeps it in `AgentStatus`. */
export interface CallState {
  /**
   * The tool call after the changes of `pre-acting` hooks and decisions. Set once the hooks have
   * run.
   */
  toolUse?: ToolUse;
  approved?: boolean;
  /** Whether the tool may have started. A started tool may have had effects. */
  started?: boolean;
  /** Decision about the tool call that the agent has not carried out yet. */
  decision?: Decision;
  /** The decision or result that the tool call waits for. */
  pending?: PendingCall;
  /** What the tool call waited for before `decision`. */
  waited?: PendingCall | undefined;
}
