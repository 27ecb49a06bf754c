import type { AgentErrorData } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { Awaitable, Hook } from '../../event/hook.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import type { RunCall } from '../../tool/run-call.ts';
import type { Tool } from '../../tool/tool.ts';
import type { Verdict } from '../admission/verdict.ts';
import type { AgentDefaults } from './agent-defaults.ts';
import type { CallInput } from '../call-input.ts';
import type { ContextRequest, FittedContext } from '../context-policy.ts';
import type { DirectAnswer } from '../direct-answer.ts';
import type { RunContext } from '../run/run-context.ts';

/**
 * What a guard returns to refuse an input. The error's `message` is for the user: it holds nothing
 * of the input or of an exception.
 */
export interface Rejection {
  readonly error: AgentErrorData;
}

/**
 * Runs a whole call. Rejects if the run fails. `input` is missing if the call was aborted, or has
 * failed, before its turn.
 */
export type AgentCall = (input: CallInput | undefined, context: RunContext) => Promise<AgentResult>;

/** A hook of an agent. */
export type AgentHook = Hook<RunContext>;

/**
 * What a feature adds to an agent, for its `use` list. Every part is optional. The list gives the
 * order: the first is the outermost wrapper and the first guard.
 */
export interface Middleware extends AgentHook {
  /** For errors and traces. In a preset, a later part of the same name replaces this one. */
  readonly name?: string;
  /** Values for options that the agent does not set. */
  readonly defaults?: Partial<AgentDefaults>;
  readonly tools?: readonly Tool[];
  /**
   * Checks what a call is made with, before it is stored: returns the input as it may be, or its
   * rejection, which ends the call with reason `rejected`. A guard that throws fails the call. The
   * context's signal is raised by an abort alone: an interrupt waits for the guards.
   * Decisions about tool calls are no input.
   */
  guard?(
    input: readonly Msg[],
    context: RunContext,
  ): readonly Msg[] | Rejection | Promise<readonly Msg[] | Rejection>;
  /**
   * Once a call, before its first request: messages that stand between the system prompt and the
   * history in each of its requests and are never stored. `input` is what the call was made with. A
   * rejection fails the call.
   */
  recall?(input: readonly Msg[], context: RunContext): Awaitable<readonly Msg[]>;
  /**
   * Makes each request fit the model's window, or shows less of the history. Changes nothing but
   * this request: the log keeps all. Keeps a tool call and its results together; the call fails
   * with `HOOK_ERROR` if it does not, or gives what are no messages. Several run in list order,
   * each on what the one before has left.
   */
  fit?(request: ContextRequest, context?: RunContext): FittedContext | Promise<FittedContext>;
  /** Tokens of a request as `fit` counts them. The last of several is what events report by. */
  count?(request: ContextRequest): number;
  /**
   * Whether somebody has to approve a call, besides its tool's own `needsApproval`; a text is the
   * pending call's `reason`. If it throws, the call does not run.
   */
  approve?(call: ReadyCall, context: RunContext): Awaitable<boolean | string>;
  /**
   * Answers an open approval while the run waits. `signal` is raised when the answer is not wanted
   * any more. `undefined`: the next middleware is asked; without an answer, the call suspends.
   */
  decide?(
    pending: PendingCall,
    context: RunContext,
    signal: AbortSignal,
  ): Awaitable<Verdict | undefined>;
  /**
   * What the result of an open tool call says if a call brings a new message in its place. Without
   * this part such a call fails with `PENDING_TOOL_CALLS`. `started`: the tool may have had effects.
   */
  closeOpenCall?(toolUse: ToolUse, about: { readonly started: boolean }): string;
  /**
   * What readers get in place of an event of this run, and the caller in place of `run-end`'s
   * result. Hooks and the log get the event as it was. Text and argument deltas do not come here.
   */
  mapEvent?(event: AgentEvent, context: RunContext): AgentEvent;
  /**
   * What runs a call in place of `next`; called once an agent. `next` rejects if the run fails, and
   * is called at most once a run. `run-start` comes before, `error` and `run-end` come after the
   * outermost of these, with its result.
   */
  wrapRun?(next: AgentCall): AgentCall;
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
}

/** Middleware, and lists of it such as presets. */
export type UseList = readonly (Middleware | UseList)[];
