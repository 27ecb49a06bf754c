import { AgentError } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';

/** Something that a client sent and the model will read, as a message for the guards. */
export interface Claim {
  readonly message: Msg;
  /**
   * Gets the message after the guards: the same object if they did not change it, or `undefined` if
   * they removed it. Its text has to be used. Throw if that is not possible, because the unjudged
   * text must not be used.
   */
  readonly take: (judged: Msg | undefined) => void | Promise<void>;
}

/**
 * Returns the error for a guard that removed or joined parts of what a client sent, although the
 * request needs all of them.
 */
export function unfitClaim(): AgentError {
  return new AgentError(
    'CONFIGURATION',
    'A guard removed or joined parts of a decision, of the history or of declarations. It may only change their texts, and has to keep the ids of messages, or reject the input.',
  );
}
