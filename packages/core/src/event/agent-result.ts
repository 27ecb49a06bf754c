import type { JsonObject } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../model/usage.ts';
import type { PendingCall } from './pending-call.ts';

/**
 * Why a call ended. `max-iterations`: the loop's limit, answered by a summary. `limit`: another
 * limit. `return-direct`: tools' results are the answer. `rejected`: a guard's no. `aborted`: an
 * `AbortSignal`.
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

export interface AgentResult<T = unknown> {
  readonly text: string;
  /** The message the call ended with; `text` is its text. */
  readonly message: Msg;
  readonly reason: StopReason;
  /** Summed over all model requests of the call. */
  readonly usage: Usage;
  /** Tools that exist and were called, each once, in order of first call. */
  readonly toolsUsed: readonly string[];
  readonly durationMs: number;
  /**
   * Model requests the loop made, and those that a hook called off; the closing summary is not
   * counted.
   */
  readonly iterations: number;
  /** What a suspended call waits for; empty where it was only paused. */
  readonly pending: readonly PendingCall[];
  /** What `CallOptions.output` asked for; absent where the call ended before there was a value. */
  readonly output?: T;
  /** Of a call with `throwOnError: false` that failed, and of a rejected one. */
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly details?: JsonObject | undefined;
  };
  /** The call's messages between question and answer, where the agent has `reactMemory()`. */
  readonly reactMemory?: readonly Msg[];
  /** Grows with every record of the session; 0 where the memory has no log. */
  readonly sessionVersion: number;
}
