import type { ContentBlock } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';

/** Tool call that waits for a person or another program. */
export interface PendingCall {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: JsonValue;
  /**
   * `approval`: may the tool run? `external`: the result has to come from outside. `suspended`: the
   * tool asked to wait. `replay`: may the tool run again?
   */
  readonly kind: 'approval' | 'external' | 'suspended' | 'replay';
  readonly reason?: string;
  /** Whether a suspended agent tool waits only for approvals: those of its child agent. */
  readonly forApproval?: true;
}

/** Returns whether a person's yes or no is all that the call waits for. */
export function waitsForApproval({ kind, forApproval }: PendingCall): boolean {
  return kind === 'approval' || forApproval === true;
}

/** Decision about a pending call. Give it as input of the agent's next call. */
export type Decision = {
  readonly toolUseId: string;
  /** Name of the tool. The decision is refused if the call is for another tool. */
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
