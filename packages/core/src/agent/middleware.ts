import type { AgentResult } from '../event/agent-result.ts';
import type { OpenCall } from '../event/agent-status.ts';
import type { AgentEvent, EventType } from '../event/agent-event.ts';
import type { Hook, HookEntry } from '../event/hook.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, ModelRequest } from '../model/chat-model.ts';
import type { ToolCall, ToolOutcome } from '../tool/tool-call.ts';
import type { Tool } from '../tool/tool.ts';
import type { ParsedInput, SettleInput } from '../event/agent-input.ts';
import type { AgentDefaults } from './kernel-options.ts';
import type { Next, CustomReason } from './next.ts';
import type { RequestDraft } from './request-draft.ts';
import type { EarlyRun } from './seam/early-run.ts';
import type { RunView } from './seam/run-view.ts';
import type { Run } from './seam/run.ts';

export type { EarlyRun, OpenCall, RequestDraft, Run, RunView };

/**
 * The step inside a wrapper: its `next`. Wait for it before the wrapper ends. It rejects if the run
 * fails. If nobody calls it, nothing inside happens: no later middleware, and not the step itself.
 */
export type InnerStep<In, Out> = (input: In) => Promise<Out>;

/**
 * Wraps one step of the loop. Called for each step, with a `next` of its own. A variable in it
 * lasts for one step. `perRun()` keeps a value for the whole run.
 */
export type Wrap<In, Out, R extends RunView = Run> = (
  input: In,
  next: InnerStep<In, Out>,
  run: R,
) => Promise<Out>;

/** A reply of the model, or a message that takes its place, as `wrapReply` gets it. */
export type Reply = ReplyOfModel | SubstituteReply;

/** A reply of the model. */
interface ReplyOfModel {
  readonly message: Msg;
  /** The request that the model answered. */
  readonly request: ModelRequest;
  /**
   * Whether this reply counts even if it is invalid: no wrapper asks the model to correct it.
   * Default: false.
   */
  readonly isFinal?: boolean;
  readonly reason?: undefined;
}

/** A message that no model wrote, such as the result of a tool. */
interface SubstituteReply {
  readonly message: Msg;
  /** Reason with which the agent call ends. */
  readonly reason: CustomReason;
  readonly request?: undefined;
  readonly isFinal?: undefined;
}

/** The open tool calls that run now, as `wrapRound` gets them. */
export interface Round {
  readonly calls: readonly OpenCall[];
  /** Maximum number of calls at the same time. Default: `limits.parallelTools`. */
  readonly parallelTools?: number;
}

/** What handlers get that run before the log is read, at any time, or at the end. */
interface RunAtEvent {
  readonly 'run-start': EarlyRun;
  readonly '*': EarlyRun;
  readonly error: RunView;
  readonly 'run-end': RunView;
}

type RunAt<K> = K extends keyof RunAtEvent ? RunAtEvent[K] : Run;

/**
 * Handlers by event type. The `pre-` and `post-` events are modifiable: a handler may return a
 * changed copy, which the next handler then gets. For all other events, return values are ignored.
 * The handler of `*` gets every event. It runs after the same hook's handler of the event's type,
 * if both have the same priority. At `error` and `run-end`, its functions that change the run have
 * no effect, or throw `ABORTED`.
 */
export type Hooks = {
  readonly [K in EventType | '*']?: HookEntry<K extends '*' ? EventType : K, RunAt<K>>;
};

/**
 * Handlers of events, which observe an agent or change what it does. Put them into `use`, or add
 * them with `agent.addHook()`.
 */
export interface AgentHook extends Omit<Hook<never>, 'on'> {
  readonly on?: Hooks;
}

/**
 * What a feature adds to an agent through the option `use`. Every member is optional. The first
 * middleware of the list is the outermost: it gets input and requests first, and replies and
 * results last. A wrapper is called for each step, with `next`, the step inside it. `wrapModel` is
 * called once per agent, and again for each agent call whose options add middleware, such as `use`
 * and `output`. Only `wrapModel` and `wrapTool` may call `next` more than once.
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
   * Returns the event that readers get instead of `event`, or nothing to leave it as it is. A
   * changed `run-end` also changes the result of the agent call, and a changed `error` its
   * rejection. Hooks and the log get the original event. Not called for `reasoning-chunk`, so a
   * text that readers must not see has to be withheld in `wrapModel`. A `tool-input-chunk` has a
   * piece of the arguments, so what you look for may be in two of them. It is synchronous: a
   * promise, or an event of another type, fails the agent call with `HOOK_ERROR`.
   */
  mapEvent?(event: AgentEvent, run: RunView): AgentEvent | void;
  /**
   * Wraps every agent call, unless it was refused or aborted before its turn. `run-start` comes
   * before the outermost wrapper. `error` and `run-end` come after it and contain its result. After
   * `next`, the result is complete: return a changed copy to add warnings or usage.
   */
  readonly wrapRun?: Wrap<ParsedInput, AgentResult, EarlyRun>;
  /**
   * Wraps what admits an input, before anything is stored. Injected messages and decisions of
   * `decide` pass it, too: `arrivedDuringRun` says so. Throw `GUARD_REJECTED` to end the agent call
   * with reason `rejected`. Users read the error's `message`. An interrupt waits for these
   * wrappers, and ends the run if one rejects with the reason of `run.stopSignal`.
   */
  readonly wrapInput?: Wrap<ParsedInput, ParsedInput, EarlyRun>;
  /** Wraps what adds the input to the log and decides about the tool calls of earlier runs. */
  readonly wrapSettle?: Wrap<SettleInput, Next>;
  /**
   * Wraps what turns the log into the next model request. Change the draft before `next` to leave
   * out messages or to add some that are not stored. Change the request after `next` for changes
   * that hooks must not see. Return a `Next`, such as an `Ending`, to ask no model. A request that
   * does not come from `next` counts toward no limit, and hooks do not see it.
   */
  readonly wrapRequest?: Wrap<RequestDraft, RequestOfNext | Next>;
  /**
   * Wraps the model. A reply that fails with `GUARD_REJECTED` ends the agent call with reason
   * `rejected` and the error's message. Send a `reset` delta first, to retract the text that
   * readers already have.
   */
  readonly wrapModel?: (next: ChatModel) => ChatModel;
  /**
   * Wraps what follows a reply, and a message that `run.ending.reply()` passes in its place. Not
   * called for the part of a reply that an abort or an interrupt has ended, which the log gets. An
   * `Ending` of `next` is not in the log yet: `isNewAnswer()` tells it from others. To ask again,
   * append its message and your own with `run.log.edit()`, and return `{ to: 'model' }`.
   */
  readonly wrapReply?: Wrap<Reply, Next>;
  /**
   * Wraps the run of the open tool calls. Calls that you leave out do not run. The next model
   * request ends them as interrupted.
   */
  readonly wrapRound?: Wrap<Round, Next>;
  /**
   * Wraps one tool call. Its arguments are valid, and other tool calls run at the same time. May
   * call `next` never, once or more. Return what `next` returned, `errorResult()`, or the result
   * of an earlier call, which gets the id and the name of this one. `hasResult()` tells a result
   * from a call that waits. An exception makes the agent call fail. It is also the error result of
   * the tool call. A wrapper outside `approvals()` answers before a person is asked: use
   * `withExecute()` to act only when the tool runs.
   */
  readonly wrapTool?: Wrap<ToolCall, ToolOutcome>;
}

/** A model request, and not the draft of one: `next` makes the request from the draft. */
type RequestOfNext = ModelRequest & { readonly fixedCount?: never };

/** Middleware and nested lists of middleware, such as presets. */
export type UseList = readonly ((Middleware & NoMiddleware) | UseList)[];

/** Makes the compiler say where things belong that are no middleware. */
interface NoMiddleware {
  /** Of an output rule, such as `piiRule()`. */
  readonly releaseAtMost?: 'Put output rules into outputGuards([…])';
  /** Of a tool. */
  readonly needsApproval?: 'Put tools into the option tools';
}
