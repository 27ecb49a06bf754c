import type { AgentStream, Msg, ReActAgent } from '@isoloop/core';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { ApiCall } from './openai-routes.ts';

/** Turn that has begun. Any number of clients can read its events. */
export interface LiveTurn {
  readonly turn: NewTurn;
  readonly agent: ReActAgent;
  /**
   * Detached stream of the run. The run continues without readers, and the stream keeps all its
   * events.
   */
  readonly stream: AgentStream;
  /** Settings of the answer. Set if a client of OpenAI asked for the turn. */
  readonly call?: ApiCall | undefined;
  /** Messages of the answer that were stored before this run resumed the turn. */
  readonly earlierMessages: readonly Msg[];
}
