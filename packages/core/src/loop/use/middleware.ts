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
import type { CallInput } from '../input/call-input.ts';
import type { ContextRequest, FittedContext } from '../context-policy.ts';
import type { DirectAnswer } from '../direct-answer.ts';
import type { RunContext } from '../run/run-context.ts';

/**
 * A guard's rejection of an input. Users read the error's `message`, so it must not quote the input
 * or an exception.
 */
export interface Rejection {
  readonly error: AgentErrorData;
}

/**
 * Runs a whole call. Rejects if the run fails. `input` is missing if the call was aborted or failed
 * before its turn.
 */
export type AgentCall = (input: CallInput | undefined, context: RunContext) => Promise<AgentResult>;

/** A hook of an agent. */
export type AgentHook = Hook<RunContext>;

/**
 * The parts that a feature adds to an agent through `use`. Every part is optional. The first
 * middleware in the list is the outermost wrapper and the first guard.
 */
export interface Middleware extends AgentHook {
  /**
   * Name for errors and traces. If this part is in a preset, a later part with the same name
   * replaces it.
   */
  readonly name?: string;
  /** Values for options that the agent does not set. */
  readonly defaults?: Partial<AgentDefaults>;
  readonly tools?: readonly Tool[];
  /**
   * Checks the input before it is stored. Returns the input, changed or not, or a rejection that
   * ends the call with reason `rejected`. A guard that throws fails the call. Only an abort raises
   * the context's signal: an interrupt waits for the guards. Decisions about tool calls do not
   * count as input.
   */
  guard?(
    input: readonly Msg[],
    context: RunContext,
  ): readonly Msg[] | Rejection | Promise<readonly Msg[] | Rejection>;
  /**
   * Returns messages to place between the system prompt and the history in all requests of this
   * call. They are never stored. Called once per call, before the first request, with the call's
   * input. A rejection fails the call.
   */
  recall?(input: readonly Msg[], context: RunContext): Awaitable<readonly Msg[]>;
  /**
   * Fits each request into the model's window, or shows less of the history. Affects this request
   * only: the log keeps everything. Must keep each tool call with its results and return valid
   * messages, or the call fails with `HOOK_ERROR`. Several run in list order, each on the result of
   * the one before.
   */
  fit?(request: ContextRequest, context?: RunContext): FittedContext | Promise<FittedContext>;
  /**
   * Returns the tokens of a request as `fit` counts them. Events report the count of the last
   * middleware that has one.
   */
  count?(request: ContextRequest): number;
  /**
   * Returns whether a call needs approval, in addition to its tool's `needsApproval`. A text is the
   * reason of the pending call. If it throws, the call does not run.
   */
  approve?(call: ReadyCall, context: RunContext): Awaitable<boolean | string>;
  /**
   * Gets the calls of a round that have no decision, and returns those that need one. Until all of
   * these have a decision, no call of the round runs, and hooks do not see the other calls. The
   * first middleware with this part counts.
   */
  hold?(calls: readonly ToolUse[], context: RunContext): Awaitable<readonly ToolUse[]>;
  /**
   * Answers an open approval during the run. `signal` is raised when the answer is no longer
   * needed. For `undefined` the next middleware is asked. If none answers, the call suspends.
   */
  decide?(
    pending: PendingCall,
    context: RunContext,
    signal: AbortSignal,
  ): Awaitable<Verdict | undefined>;
  /**
   * Called if a new message comes while a tool call has no result. Returns the text for that
   * result. Without this part, the agent's call fails with `PENDING_TOOL_CALLS`. `started`: the
   * tool may have had effects.
   */
  closeOpenCall?(toolUse: ToolUse, about: { readonly started: boolean }): string;
  /**
   * Returns the event that readers get instead. A changed `run-end` also changes the result of the
   * call. Hooks and the log get the original event. Not called for text and argument deltas.
   */
  mapEvent?(event: AgentEvent, context: RunContext): AgentEvent;
  /**
   * Wraps the run of a call; called once per agent. `next` rejects if the run fails. Call it at
   * most once per run. `run-start` comes before the outermost wrapper, `error` and `run-end` come
   * after it and carry its result.
   */
  wrapRun?(next: AgentCall): AgentCall;
  /**
   * Wraps the model; called once per agent. A reply that fails with `GUARD_REJECTED` ends the call
   * with reason `rejected` and the error's message. Send a `reset` first, to retract the released
   * text.
   */
  wrapModel?(next: ChatModel): ChatModel;
  /** Wraps the run of a prepared tool call; called once per agent. */
  wrapTool?(next: RunCall): RunCall;
  /**
   * Wraps the check whether tool results are the answer. The loop makes this check before each
   * request. Called once per agent. `undefined`: ask the model. A failure with `GUARD_REJECTED`
   * ends the call with reason `rejected`.
   */
  wrapAnswer?(next: DirectAnswer): DirectAnswer;
}

/** Middleware and nested lists of middleware, such as presets. */
export type UseList = readonly (Middleware | UseList)[];
