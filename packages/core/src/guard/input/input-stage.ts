import type { RunInfo } from '../../model/chat-model.ts';
import type { GuardCategory } from '../../error/error-message.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { JsonObject } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { Usage } from '../../model/usage.ts';

/** Whose call it is. */
export interface GuardContext extends RunInfo {
  /** Raised when the call is aborted, interrupted or paused. */
  readonly signal: AbortSignal;
}

/** A stage's no. */
export interface StageRejection {
  readonly category: GuardCategory;
  /** For the user, in place of the category's words. */
  readonly message?: string;
  /** For programs: goes into the error's `details`, beside `category` and `stage`. */
  readonly details?: JsonObject;
}

/** What a call cost that has ended. */
export interface EndedCall {
  /**
   * Summed over all its model requests, as the provider reported them; estimated for those of which
   * it did not: a reply that was cut off after its first words, or any of a provider that never
   * does.
   */
  readonly usage: Usage;
  /** Of the agent's model. */
  readonly modelId: string;
}

/**
 * One check of what a call is made with. Anything it throws, and anything else it gives, is a
 * rejection: guards fail closed.
 */
export interface InputStage {
  readonly name: string;
  /**
   * The input as it is, or as it may be, or a rejection. It is empty where a call goes on from the
   * log.
   */
  check(input: readonly Msg[], context: GuardContext): Awaitable<readonly Msg[] | StageRejection>;
  /**
   * After each call, however it ended. What it throws is reported and does not change how it ended.
   */
  after?(call: EndedCall, context: GuardContext): Awaitable<void>;
}
