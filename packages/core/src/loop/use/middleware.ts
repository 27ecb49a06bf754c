import type { AgentErrorData } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { Awaitable, Hook } from '../../event/hook.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { MessageContext } from '../../message/create-message.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import type { RunCall } from '../../tool/run-call.ts';
import type { Tool } from '../../tool/tool.ts';
import type { Verdict } from '../admission/verdict.ts';
import type { AgentDefaults } from './agent-defaults.ts';
import type { CallInput } from '../input/call-input.ts';
import type { Claim } from '../input/claim.ts';
import type { ContextRequest, FittedContext } from '../context-policy.ts';
import type { DirectAnswer } from '../direct-answer.ts';
import type { OnLimit } from '../limit.ts';
import type { RunContext } from '../run/run-context.ts';

/**
 * A guard's rejection of an input. Users read the error's `message`, so it must not quote the input
 * or an exception.
 */
export interface Rejection {
  readonly error: AgentErrorData;
}

/**
 * Function that runs a whole agent call. Rejects if the run fails. `input` is `undefined` if the
 * agent call was aborted or failed before its turn.
 */
export type AgentCall = (input: CallInput | undefined, context: RunContext) => Promise<AgentResult>;

/** A hook of an agent. */
export type AgentHook = Hook<RunContext>;

/**
 * The hooks, wrappers and tools that a feature adds to an agent through the option `use`. Every
 * field is optional. The first middleware in the list is the outermost wrapper and the first guard.
 */
export interface Middleware extends AgentHook {
  /**
   * Name for errors and traces. If this middleware is in a preset, a later middleware with the same
   * name replaces it. Two other middleware of one name are `CONFIGURATION`.
   */
  readonly name?: string;
  /** Values for options that the agent does not set. */
  readonly defaults?: Partial<AgentDefaults>;
  readonly tools?: readonly Tool[];
  /**
   * Checks the input before it is stored. Returns the input, changed or not, or a rejection that
   * ends the agent call with reason `rejected`. If a guard throws, the agent call fails. The
   * context's signal aborts only after an abort; an interrupt waits for the guards.
   */
  guard?(
    input: readonly Msg[],
    context: RunContext,
  ): readonly Msg[] | Rejection | Promise<readonly Msg[] | Rejection>;
  /**
   * Returns the texts of decisions as messages, so that the guards judge them too:
   * `decisionClaims`, which `inputGuards()` and `piiGuard()` set. Only the first middleware with
   * `claims` counts.
   */
  claims?(decisions: Decision[], context: MessageContext): readonly Claim[];
  /**
   * Returns messages to place between the system prompt and the history in all model requests of
   * this agent call. They are never stored. Called once per agent call, before the first model
   * request, with the input. If the promise rejects, the agent call fails.
   */
  recall?(input: readonly Msg[], context: RunContext): Awaitable<readonly Msg[]>;
  /**
   * Fits each model request into the context window, or leaves out parts of the history. Changes
   * only this request; the log keeps all messages. Must keep each tool call together with its
   * result and return valid messages. Otherwise the agent call fails with `HOOK_ERROR`. Several
   * middleware run in list order, each on the result of the previous one.
   */
  fit?(request: ContextRequest, context?: RunContext): FittedContext | Promise<FittedContext>;
  /**
   * Returns the number of tokens of a request as `fit` counts them. Events report the number of the
   * last middleware with `count`.
   */
  count?(request: ContextRequest): number;
  /**
   * Returns whether a tool call needs approval, in addition to the tool's `needsApproval`. A text
   * becomes the `reason` of the pending tool call. If `approve` throws, the tool call does not run.
   */
  approve?(call: ReadyCall, context: RunContext): Awaitable<boolean | string>;
  /**
   * Gets all open tool calls, and returns those that need a decision. Until
   * these have decisions, no open tool call runs, and hooks do not see the other tool calls. After
   * `undefined`, each tool call waits only for its own decision. Only the last middleware with
   * `hold` counts.
   */
  hold?(calls: readonly ToolUse[], context: RunContext): Awaitable<readonly ToolUse[] | undefined>;
  /**
   * Decides about a tool call that needs approval, while the run waits. `signal` aborts when the
   * decision is no longer needed. After `undefined`, the next middleware decides. If no middleware
   * decides, the agent call suspends.
   */
  decide?(
    pending: PendingCall,
    context: RunContext,
    signal: AbortSignal,
  ): Awaitable<Verdict | undefined>;
  /**
   * Returns the text for the result of an open tool call. Called if a new message comes while a
   * tool call has no result. Without this function, the agent call fails with `PENDING_TOOL_CALLS`.
   * `started`: the tool may have had effects.
   */
  closeOpenCall?(toolUse: ToolUse, about: { readonly started: boolean }): string;
  /**
   * Returns the event that readers get instead of `event`. A changed `run-end` also changes the
   * result of the agent call. Hooks and the log get the original event. Not called for text and
   * argument deltas.
   */
  mapEvent?(event: AgentEvent, context: RunContext): AgentEvent;
  /**
   * Wraps every agent call. Called once per agent. `next` rejects if the run fails. Call `next` at
   * most once per run. `run-start` comes before the outermost wrapper. `error` and `run-end` come
   * after it and contain its result.
   */
  wrapRun?(next: AgentCall): AgentCall;
  /**
   * Wraps the model. Called once per agent. A reply that fails with `GUARD_REJECTED` ends the agent
   * call with reason `rejected` and the error's message. Send a `reset` delta first, to retract the
   * text that readers already have.
   */
  wrapModel?(next: ChatModel): ChatModel;
  /**
   * Wraps the function that runs a tool. Called once per agent. An exception makes the agent call
   * fail. It is also the error result of the tool call.
   */
  wrapTool?(next: RunCall): RunCall;
  /**
   * Wraps the check whether tool results are the answer. The loop makes this check before each
   * model request. Called once per agent. If the check returns `undefined`, the loop asks the
   * model. A failure with `GUARD_REJECTED` ends the agent call with reason `rejected`.
   */
  wrapAnswer?(next: DirectAnswer): DirectAnswer;
  /**
   * Wraps the agent's `onLimit`, which answers at the limit of iterations or tokens. Called once per
   * agent. Not used if the `output` of an agent call asks for its value itself.
   */
  wrapLimit?(next: OnLimit): OnLimit;
}

/** Middleware and nested lists of middleware, such as presets. */
export type UseList = readonly (Middleware | UseList)[];
