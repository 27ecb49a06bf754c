import type { RunInfo } from '../../model/chat-model.ts';
import type { GuardCategory } from '../../error/error-message.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { JsonObject } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { Usage } from '../../model/usage.ts';

/** Identity of the checked call, and its signal. */
export interface GuardContext extends RunInfo {
  /** Signal that is raised when the call is aborted, interrupted or paused. */
  readonly signal: AbortSignal;
}

/** Rejection by a stage. */
export interface StageRejection {
  readonly category: GuardCategory;
  /** Message for the user; default: the text of the category. */
  readonly message?: string;
  /** Data for programs. It goes into the error's `details`, beside `category` and `stage`. */
  readonly details?: JsonObject;
}

/** Cost of a call that has ended. */
export interface EndedCall {
  /**
   * Tokens of all the call's model requests, as the provider reported them. Unreported tokens are
   * estimated: for replies cut off after their first words, and for providers that never report.
   */
  readonly usage: Usage;
  /** Id of the agent's model. */
  readonly modelId: string;
}

/**
 * One check of a call's input. An exception or an invalid return value is a rejection: guards fail
 * closed.
 */
export interface InputStage {
  readonly name: string;
  /**
   * Returns the input unchanged, a changed input or a rejection. The input is empty if a call
   * resumes from the log.
   */
  check(input: readonly Msg[], context: GuardContext): Awaitable<readonly Msg[] | StageRejection>;
  /**
   * Runs after each call, however it ended. An exception is reported and does not change the call's
   * outcome.
   */
  after?(call: EndedCall, context: GuardContext): Awaitable<void>;
}
