import type { EventBatch } from '../event/agent-event.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { OnLimit } from './limit.ts';
import type { Move } from './move.ts';
import type { Run } from './run.ts';

/** How a call gets a typed value out of the model; `structured()` makes one. */
export interface OutputMode<T = unknown> {
  /** Called once a run, so that a mode can be kept and used for many calls. */
  begin(run: Run): OutputRun;
  /** Carries the value's type; never there. */
  readonly of?: () => T;
}

/** The mode at work in one run. */
export interface OutputRun {
  /** Offered beside the agent's own. */
  readonly tools?: readonly Tool[];
  /** What `request` puts into the requests, where it is text that has to be counted. */
  readonly beside?: Msg;
  /** The last word on a request of the loop, after the hooks; must not change what it is given. */
  request(request: ModelRequest): ModelRequest;
  /**
   * What to do with a reply that calls no tool, which is not in the log yet: its move, or nothing
   * to let the loop finish with it.
   */
  judge(reply: Msg): AsyncGenerator<EventBatch, Move | undefined>;
  /** Whether the calls that just ended settled the matter: the move then. */
  settled(): AsyncGenerator<EventBatch, Move | undefined>;
  /** Asks for the value when the iterations are used up. */
  readonly onLimit: OnLimit;
}
