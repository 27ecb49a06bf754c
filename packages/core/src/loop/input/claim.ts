import type { Msg } from '../../message/msg.ts';

/** Something that a client sent and the model will read, as a message for the guards. */
export interface Claim {
  readonly message: Msg;
  /** Gets the message after the guards, if they changed it. The changed text has to be used. */
  readonly take: (judged: Msg) => void | Promise<void>;
}
