import type { ContentBlock } from '../message/content-block.ts';
import type { JsonObject, JsonValue } from '../message/json/json.ts';

/** Tool call that waits for a person or another program. */
export interface PendingCall {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: JsonValue;
  /**
   * `approval`: a person must allow the tool to run. `external`: the caller must supply the result.
   * `suspended`: the tool itself asked to wait. `replay`: a person must allow the tool to run
   * again.
   */
  readonly kind: 'approval' | 'external' | 'suspended' | 'replay';
  readonly reason?: string;
  /** Whether a suspended agent tool waits only for approvals of its child agent's tool calls. */
  readonly forApproval?: true;
  /**
   * What the tool passed to `suspend` besides the reason, such as the questions of an MCP server.
   * The tool gets it again together with the decision.
   */
  readonly details?: JsonObject;
}

/** Returns whether the tool call waits only for approvals. */
export function waitsForApproval({ kind, forApproval }: PendingCall): boolean {
  return kind === 'approval' || forApproval === true;
}

/** Name of the middleware that carries out decisions. */
export const decisionsRequire = 'approvals';

/** Decision about a pending tool call. Pass it as input of the next agent call. */
export type Decision = {
  readonly toolUseId: string;
  /**
   * Name of the tool. If the tool call is for another tool, the decision fails with
   * `INVALID_DECISION`.
   */
  readonly name?: string;
} & (
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string }
  | {
      readonly type: 'result';
      readonly output: string | readonly ContentBlock[];
      readonly state?: 'success' | 'error' | 'interrupted';
    }
);
