import type { AgentErrorData } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../model/chat-model.ts';
import type { IncompleteReason } from '../model/finish-reason.ts';
import type { PendingCall } from './pending-call.ts';

/**
 * Reason why an agent call ended. `max-iterations`: the loop reached `limits.iterations`. `limit`:
 * it reached another limit. `ReActAgent` then answers with a summary; the kernel's `Agent` has no
 * answer. `return-direct`: tool results are the answer. `rejected`: a guard or hook rejected the
 * call. `aborted`: an `AbortSignal` was aborted.
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

/** Whether an agent call with this reason ended with an answer. */
const endsWithAnswer: Readonly<Record<StopReason, boolean>> = {
  stop: true,
  'return-direct': true,
  'max-iterations': true,
  limit: true,
  'stopped-by-hook': true,
  interrupted: false,
  suspended: false,
  rejected: false,
  aborted: false,
  error: false,
};

/** Returns whether an agent call with this reason ended with an answer. */
export function isAnswerReason(reason: StopReason): boolean {
  return endsWithAnswer[reason];
}

/** Event at which a hook can end the agent call. */
export type StopEvent =
  | 'pre-call'
  | 'pre-reasoning'
  | 'post-reasoning'
  | 'pre-acting'
  | 'post-acting'
  | 'pre-summary';

/**
 * What an agent call returns: the answer, why it ended, and what it used. `T`: type of `output`.
 */
export interface AgentResult<T = unknown> {
  readonly text: string;
  /** Last message of the agent call. The field `text` contains the text of this message. */
  readonly message: Msg;
  readonly reason: StopReason;
  /**
   * Why the answer may not be whole, although the model wrote it: `length`, `filtered` or `other`.
   * Absent if the model ended its last reply itself, and if no model wrote `message`.
   * `message.metadata.finishReason` has the provider's word.
   */
  readonly incomplete?: IncompleteReason;
  /**
   * Tokens, summed over all model requests of the call. The child agents of `agentTool()` count
   * their own: each child's `run-end` event has them.
   */
  readonly usage: Usage;
  /**
   * Names of the tools that ran, each once, in the order of their start. Calls of tools that do not
   * exist are left out. So are calls that were rejected or wait for an approval.
   */
  readonly toolsUsed: readonly string[];
  readonly durationMs: number;
  /**
   * Number of model requests of the loop, including requests that a hook canceled. The summary at a
   * limit does not count.
   */
  readonly iterations: number;
  /**
   * Tool calls that the suspended agent call waits for. Empty if the agent call was only paused. A
   * rejected agent call leaves the tool calls of an earlier one open, and names them.
   */
  readonly pending: readonly PendingCall[];
  /**
   * Event at which a hook ended the agent call. Set only with reason `stopped-by-hook`.
   * `post-reasoning`: the hook stopped the call after a reply of the model. `post-acting`: after a
   * tool call.
   */
  readonly stoppedAt?: StopEvent;
  /**
   * Typed value that `CallOptions.output` asked for. Absent if the agent call ended without a
   * value.
   */
  readonly output?: T;
  /**
   * Error of a rejected agent call. With `throwOnError: false`, also the error of a failed one.
   * With reason `max-iterations` or `limit`, the error of the summary that `summaryFallback()`
   * replaced.
   */
  readonly error?: Omit<AgentErrorData, 'name'>;
  /**
   * Errors after which the agent call continued: summaries of `summarizeHistory()` that failed or
   * could not be stored. Also requests of `interrupt()` that were dropped because they are not
   * valid. Absent without warnings.
   */
  readonly warnings?: readonly AgentErrorData[];
  /**
   * Messages of the agent call between question and answer. Set if the agent has `reactMemory()`.
   */
  readonly reactMemory?: readonly Msg[];
  /**
   * Version of the session. Grows with every write to the session's log. 0 if the memory has no
   * log.
   */
  readonly sessionVersion: number;
}

/** A text for the user, or a function that returns a text for the `error` of a result. */
export type FriendlyText = string | ((error: NonNullable<AgentResult['error']>) => string);

/** The text of a failed result for users whom nobody told more. */
const defaultErrorText = 'Something went wrong on my side. Please try again.';

/**
 * Returns the text for an error. If `text` throws, returns the default text, so that the original
 * error is not lost.
 */
export function friendlyText(error: NonNullable<AgentResult['error']>, text: FriendlyText): string {
  if (typeof text === 'string') return text;
  try {
    return String(text(error));
  } catch {
    return defaultErrorText;
  }
}
