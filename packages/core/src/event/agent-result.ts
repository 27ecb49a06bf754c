import type { JsonObject } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../model/usage.ts';
import type { PendingCall } from './pending-call.ts';

/**
 * Reason why a call ended. `max-iterations`: the loop reached its limit and answered with a
 * summary. `limit`: another limit. `return-direct`: tool results are the answer. `rejected`: a
 * guard or hook rejected the call. `aborted`: an `AbortSignal` was aborted.
 */
export type StopReason =
  | 'stop'
  | 'interrupted'
  | 'suspended'
  | 'max-iterations'
  | 'limit'
  | 'return-direct'
  | 'stopped-by-hook'
  | 'rejected'
  | 'aborted'
  | 'error';

/** Event at which a hook can end the call. */
export type StopEvent =
  | 'pre-call'
  | 'pre-reasoning'
  | 'post-reasoning'
  | 'pre-acting'
  | 'post-acting'
  | 'pre-summary';

export interface AgentResult<T = unknown> {
  readonly text: string;
  /** Last message of the call; `text` is its text. */
  readonly message: Msg;
  readonly reason: StopReason;
  /** Tokens, summed over all model requests of the call. */
  readonly usage: Usage;
  /** Names of the existing tools that were called, each once, in order of first call. */
  readonly toolsUsed: readonly string[];
  readonly durationMs: number;
  /**
   * Number of model requests of the loop, including those that a hook canceled. The closing summary
   * does not count.
   */
  readonly iterations: number;
  /** Tool calls that a suspended call waits for; empty if it was only paused. */
  readonly pending: readonly PendingCall[];
  /**
   * Event at which a hook ended the call; only with reason `stopped-by-hook`. It distinguishes a
   * stop after reasoning (`post-reasoning`) from one after acting (`post-acting`).
   */
  readonly stoppedAt?: StopEvent;
  /** Value for `CallOptions.output`; absent if the call ended without a value. */
  readonly output?: T;
  /** Error of a rejected call, or of a failed one with `throwOnError: false`. */
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly details?: JsonObject | undefined;
  };
  /** Messages of the call between question and answer, if the agent has `reactMemory()`. */
  readonly reactMemory?: readonly Msg[];
  /** Number that grows with every record of the session; 0 if the memory has no log. */
  readonly sessionVersion: number;
}
