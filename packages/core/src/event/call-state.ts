import type { ToolUse } from '../message/content-block.ts';
import type { Decision, PendingCall } from './pending-call.ts';

/**
 * What the agent knows of an open tool call beside the log, from the model's request to the result;
 * plain JSON.
 */
export interface CallState {
  /** The call as its `pre-acting` hooks or a decision left it; there once the hooks have run. */
  toolUse?: ToolUse;
  approved?: boolean;
  /** It may have had effects. */
  started?: boolean;
  /** What somebody said of it, where that is yet to be carried out. */
  decision?: Decision;
  /** What it waits for. */
  pending?: PendingCall;
}
