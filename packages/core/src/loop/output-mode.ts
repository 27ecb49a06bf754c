import type { PendingCall } from '../event/pending-call.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { OnLimit } from './limit.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { RunContext } from './run/run-context.ts';

/** How a call gets a typed value out of the model; `structured()` makes one. */
export interface OutputMode<T = unknown> {
  /** Called once a run, so that a mode can be kept and used for many calls. */
  begin(context: RunContext, steps: LoopSteps): OutputRun;
  /** Carries the value's type; never there. */
  readonly of?: () => T;
}

/** The value, and the message that the call is answered with. */
export interface OutputAnswer {
  readonly message: Msg;
  readonly output: unknown;
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
   * What to do with a reply that calls no tool, which is not in the log yet. Nothing: it is the
   * answer.
   */
  judge(reply: Msg): Promise<OutputAnswer | 'again' | undefined>;
  /**
   * The answer, if the calls that just ended settled the matter. `pending`: those that somebody has
   * to decide about first.
   */
  settled(pending: readonly PendingCall[]): Promise<OutputAnswer | undefined>;
  /** Asks for the value when the iterations are used up. Default: the agent's `onLimit`. */
  readonly onLimit?: OnLimit | undefined;
}
