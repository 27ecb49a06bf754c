import type { PendingCall } from '../event/pending-call.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { OnLimit } from './limit.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { RunContext } from './run/run-context.ts';

/** A way to get a typed value from the model, such as `structured()`. */
export interface OutputMode<T = unknown> {
  /** Starts the mode for one run. Many runs may share the mode. */
  begin(context: RunContext, steps: LoopSteps): OutputRun;
  /** Carries only the type of the value. Never set. */
  readonly of?: () => T;
}

/** Makes the compiler say what to do with a schema that is used as an output mode. */
export interface NoSchema {
  readonly '~standard'?: 'Wrap the schema: structured(schema)';
}

/** The typed value, and the message that becomes the answer. */
export interface OutputAnswer {
  readonly message: Msg;
  readonly output: unknown;
}

/** An output mode in one run. */
export interface OutputRun {
  /** Tools to offer beside the agent's own. */
  readonly tools?: readonly Tool[];
  /** Message that `request` adds to each model request. Context policies count its tokens. */
  readonly beside?: Msg;
  /** Returns a changed copy of a model request. Called after the hooks. */
  request(request: ModelRequest): ModelRequest;
  /**
   * Judges a reply without tool calls. The reply is not in the log yet. Returns the answer with its
   * value, or `again` to ask the model again. `undefined`: the reply is the answer.
   */
  judge(reply: Msg): Promise<OutputAnswer | 'again' | undefined>;
  /**
   * Returns the answer and the value for an answer that an earlier run stored. `undefined`: the
   * stored answer has no value.
   */
  stored?(answer: Msg): Promise<OutputAnswer | undefined>;
  /**
   * Returns the answer if the tool calls that have just ended provide the value. `pending`: tool
   * calls that still wait for a person or another program.
   */
  settled(pending: readonly PendingCall[]): Promise<OutputAnswer | undefined>;
  /**
   * Asks the model for the value at the limit of iterations or tokens. Default: the agent's
   * `onLimit`.
   */
  readonly onLimit?: OnLimit | undefined;
}
