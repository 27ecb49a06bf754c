import type { AgentErrorData } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import type { StopEvent, StopReason } from '../event/agent-result.ts';
import type { Decision } from '../event/pending-call.ts';

export interface FinishExtras {
  readonly output?: unknown;
  readonly error?: AgentErrorData;
  readonly stoppedAt?: StopEvent;
}

/** The next step of the loop. */
export type Move =
  /**
   * `ask`: ask the model even if tool results could be the answer. `decisions`: decisions about
   * tool calls that were open before the agent call.
   */
  | {
      readonly to: 'model' | 'tools';
      readonly ask?: boolean;
      readonly decisions?: readonly Decision[];
    }
  | ({ readonly to: 'finish'; readonly reason: StopReason; readonly message: Msg } & FinishExtras);

/** A step of the loop. Resolves with the next move. */
export type Step = Promise<Move>;
