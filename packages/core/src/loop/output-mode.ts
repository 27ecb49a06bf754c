import type { PendingCall } from '../event/pending-call.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { OnLimit } from './limit.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { RunContext } from './run/run-context.ts';

/** A way to get a typed value from the model, such as `structured()`. */
export interface OutputMode<T = unknown> {
  /** Starts the mode for one run. The mode itself may serve many calls. */
  begin(context: RunContext, steps: LoopSteps): OutputRun;
  /** Carries the value's type only; never set. */
  readonly of?: () => T;
}

/** The value, and the message that answers the call. */
export interface OutputAnswer {
  readonly message: Msg;
  readonly output: unknown;
}

/** An output mode in one run. */
export interface OutputRun {
  /** Tools to offer beside the agent's own. */
  readonly tools?: readonly Tool[];
  /** Text that `request` adds to each request, so that policies can count it. */
  readonly beside?: Msg;
  /** Changes a request of the loop last, after the hooks. Must return a new object. */
  request(request: ModelRequest): ModelRequest;
  /**
   * Judges a reply without tool calls, which is not in the log yet. `undefined`: the reply is the
   * answer.
   */
  judge(reply: Msg): Promise<OutputAnswer | 'again' | undefined>;
  /** Returns the value of an answer that an earlier run stored, if the answer has one. */
  stored?(answer: Msg): Promise<OutputAnswer | undefined>;
  /**
   * Returns the answer if the calls that just ended provide it. `pending`: calls that wait for a
   * decision.
   */
  settled(pending: readonly PendingCall[]): Promise<OutputAnswer | undefined>;
  /** Asks for the value when the iterations are used up. Default: the agent's `onLimit`. */
  readonly onLimit?: OnLimit | undefined;
}
