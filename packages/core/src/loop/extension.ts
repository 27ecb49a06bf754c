import type { AgentErrorData } from '../error/agent-error.ts';
import type { EventBatch } from '../event/agent-event.ts';
import type { Awaitable, Hook } from '../event/hook.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, RunInfo } from '../model/chat-model.ts';
import type { ReadyCall } from '../tool/prepare-call.ts';
import type { RunCall } from '../tool/run-call.ts';
import type { Tool } from '../tool/tool.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { CallInput } from './call-input.ts';
import type { DirectAnswer } from './direct-answer.ts';
import type { Run } from './run.ts';

export interface RecallContext extends RunInfo {
  /** Raised when the call is aborted or interrupted. */
  readonly signal: AbortSignal;
  /** The conversation as the model is to see it, the input at its end. */
  readonly messages: readonly Msg[];
  /** What is provided for tokens, as tools get it. */
  readonly context: ReadonlyMap<object, unknown>;
}

export interface GuardContext extends RunInfo {
  /** Raised when the call is aborted. */
  readonly signal: AbortSignal;
}

/**
 * A guard's no. `message` is for the user: nothing of the input or of an exception stands in it.
 */
export interface Rejection {
  readonly error: AgentErrorData;
}

/**
 * The whole of a call: yields its events, returns its result. Without `input` it was aborted, or
 * has failed, before its turn.
 */
export type RunAgent = (
  run: Run,
  input: CallInput | undefined,
) => AsyncGenerator<EventBatch, AgentResult>;

/**
 * What a feature brings to an agent as one piece; every part is optional. Of several wrappers the
 * first is the outermost.
 */
export interface Extension {
  readonly hooks?: readonly Hook[];
  readonly tools?: readonly Tool[];
  /**
   * Once a call, before its first request: messages that stand between the system prompt and the
   * history in each of its requests and are never stored. `input` is what the call was made with. A
   * rejection fails the call.
   */
  recall?(input: readonly Msg[], context: RecallContext): Promise<readonly Msg[]>;
  /**
   * Before anything is stored: the input as it may be, or its rejection, which ends the call with
   * reason `rejected`. A guard that throws fails the call. Decisions about tool calls are no input.
   */
  guard?(input: readonly Msg[], context: GuardContext): Promise<readonly Msg[] | Rejection>;
  /**
   * The model that the agent asks in place of `next`; called once an agent. A reply that fails with
   * `GUARD_REJECTED` ends the call with reason `rejected` and that error's words; what of it was
   * given out before should be taken back by a `reset`.
   */
  wrapModel?(next: ChatModel): ChatModel;
  /** What runs a prepared tool call in place of `next`; called once an agent. */
  wrapTool?(next: RunCall): RunCall;
  /**
   * What makes the answer of tools' results, before each request to the model, in place of `next`;
   * called once an agent. Nothing: the model is asked. One that fails with `GUARD_REJECTED` ends
   * the call with reason `rejected`.
   */
  wrapAnswer?(next: DirectAnswer): DirectAnswer;
  /**
   * Whether somebody has to approve a call, besides its tool's own `needsApproval`; a text is the
   * pending call's `reason`. A throw: it does not run.
   */
  needsApproval?(call: ReadyCall): Awaitable<boolean | string>;
  /** A call that needs approval does not suspend: `wrapTool` gets it, with `needs`, and asks. */
  readonly asksApproval?: boolean;
  /** What runs a call in place of `next`; called once an agent. */
  wrapCall?(next: RunAgent): RunAgent;
}
