import type { RunInfo } from '../../../model/chat-model.ts';
import type { Awaitable } from '../../../event/hook.ts';
import type { Msg } from '../../../message/msg.ts';
import type { Usage } from '../../../model/usage.ts';
import type { StageRejection } from '../rejection.ts';

/** Identity and signal of the agent call whose input is checked. */
export interface GuardContext extends RunInfo {
  /** Signal that aborts when the agent call is aborted. An interrupt waits for the check. */
  readonly signal: AbortSignal;
}

/** Cost of an agent call that has ended. */
export interface EndedCall {
  /**
   * Tokens of all model requests of the agent call, as the provider reported them. Tokens that the
   * provider did not report are estimated. Examples are a reply that was cut off after its first
   * words, and a provider that never reports usage.
   */
  readonly usage: Usage;
  /** Id of the agent's model. */
  readonly modelId: string;
}

/**
 * One check of an agent call's input. An exception or an invalid return value counts as a
 * rejection, so a broken stage lets nothing pass.
 */
export interface InputStage {
  readonly name: string;
  /**
   * Returns the input unchanged, a changed input, or a rejection. The input is empty if an agent
   * call resumes from the session log.
   */
  check(input: readonly Msg[], context: GuardContext): Awaitable<readonly Msg[] | StageRejection>;
  /**
   * Runs after each agent call that has ended, successful or not. An exception is reported and does
   * not change the result of the agent call.
   */
  after?(call: EndedCall, context: GuardContext): Awaitable<void>;
}
