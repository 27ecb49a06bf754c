import type { ContentBlock } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';

/** A tool call that waits for somebody. */
export interface PendingCall {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: JsonValue;
  /**
   * `approval`: may it run? `external`: its result is wanted. `suspended`: the tool asked to wait.
   * `replay`: may it run again?
   */
  readonly kind: 'approval' | 'external' | 'suspended' | 'replay';
  readonly reason?: string;
}

/** What somebody decided about a pending call; given as the input of the agent's next call. */
export type Decision = {
  readonly toolUseId: string;
  /** The tool that was decided about: refused where the call is of another. */
  readonly name?: string;
} & (
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string }
  | {
      readonly type: 'result';
      readonly output: string | readonly ContentBlock[];
      readonly state?: 'success' | 'error';
    }
);
