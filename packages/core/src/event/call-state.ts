import type { ToolUse } from '../message/content-block.ts';
import type { Decision, PendingCall } from './pending-call.ts';

/**
 * State of an open tool call, kept beside the log from the model's request to the result; plain
 * JSON.
 */
export interface CallState {
  /** The call as its `pre-acting` hooks or a decision changed it. Set once the hooks have run. */
  toolUse?: ToolUse;
  approved?: boolean;
  /** Whether the call may have had effects. */
  started?: boolean;
  /** Decision about the call that the agent has not carried out yet. */
  decision?: Decision;
  /** The decision or result that the call waits for. */
  pending?: PendingCall;
}
