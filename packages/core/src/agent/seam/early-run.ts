import type { AgentErrorData } from '../../error/agent-error.ts';
import type { EventData, EventType } from '../../event/agent-event.ts';
import type { ParsedInput } from '../../event/agent-input.ts';
import type { ModifiableEvent } from '../../event/hook.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import type { JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, ModelRequest, Usage } from '../../model/chat-model.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';
import type { InboxHandler } from '../run/inbox.ts';
import type { AskResult, ToEvent } from '../step/read-reply.ts';
import type { RunView } from './run-view.ts';

/** Events that hooks only observe. */
type ObservedEvent = Exclude<EventType, ModifiableEvent | 'run-start' | 'run-end' | 'error'>;

/**
 * A run that may not have read its log. `wrapRun`, `wrapInput`, and hooks at `run-start` and `*`
 * get it. It cannot change the conversation, because a refused input must change nothing there.
 *
 * After the end of the run, functions that change something throw `ABORTED`.
 */
export interface EarlyRun extends RunView {
  /**
   * The session's state, to read and to change. The run's next write stores it. In `wrapRun` and
   * `wrapInput`, call `run.log.load()` first. After `next` of `wrapRun` no write follows: call
   * `run.log.store()` there. Keep what belongs to a user, or to several sessions, in a store of
   * your own.
   */
  readonly state: Record<string, JsonValue>;
  /** The log of the session. */
  readonly log: {
    /** Reads the session's state, unless this run has read it. */
    load(): Promise<void>;
    /** Stores now what the next write would store, such as `run.state`. */
    store(): Promise<void>;
  };
  readonly prompt: RunView['prompt'] & {
    /**
     * Replaces the base of the system prompt from the next model request on. The texts of
     * `append()` stay after it.
     */
    set(text: string): void;
    /**
     * Appends a text to the system prompt from the next model request on, after a blank line.
     */
    append(text: string): void;
    /**
     * Adds messages to all later model requests of this run, between system prompt and
     * conversation, before those of earlier calls. They are not stored.
     */
    include(messages: readonly Msg[]): void;
  };
  readonly tools: RunView['tools'] & {
    /**
     * Adds tools for this run. The call's `allowTools` and what other middleware has set do not
     * hide them. Throws `CONFIGURATION` if the run has another tool of the same name.
     */
    add(tools: readonly Tool[]): void;
    /**
     * Replaces the tools of this run. In `wrapRequest`, pass the new `schemas` to `next`: the draft
     * has the schemas of before.
     *
     * @example
     * wrapRequest(draft, next, run) {
     *   run.tools.set(allowTools(run.tools.current, ['search']));
     *   return next({ ...draft, tools: run.tools.schemas });
     * },
     */
    set(tools: ToolSet): void;
  };
  readonly model: RunView['model'] & {
    /**
     * The stream of the model inside the `wrapModel` of all middleware, for code that takes a
     * `ChatModel`. Pass the run in `context.run`, and its usage to `addUsage()`. Otherwise use
     * `ask()`. In a `wrapModel`, use `next.stream()`: this stream would come to it again.
     */
    stream(...args: Parameters<ChatModel['stream']>): ReturnType<ChatModel['stream']>;
    /**
     * Sends one extra model request. It does not count as an iteration, and its messages are not
     * stored. Readers get nothing of the reply, unless `toEvent` returns an event for a piece of
     * it. An abort then stores the reply, as readers have it. The request passes the `wrapModel` of
     * all middleware, so ask `next` instead in a `wrapModel`.
     */
    ask(request: ModelRequest, toEvent?: ToEvent): Promise<AskResult>;
    /**
     * Adds the usage of a middleware's own request to another model to that of the agent call.
     * After `next` of `wrapRun`, only `run.usage` gets it: return it in the result.
     */
    addUsage(usage: Usage | undefined): void;
  };
  /** Events for hooks and readers. */
  readonly events: {
    /**
     * Sends an event to the hooks, then to the readers. With `to: 'readers'`, leaves out the hooks.
     * Only then it may be an event with controls, because the loop would not carry out what hooks
     * ask for. A hook must not send an event that it gets itself: if that has no end, the agent
     * call fails with `CONFIGURATION`.
     */
    emit<K extends ObservedEvent>(type: K, data: EventData<K>): Promise<void>;
    emit<K extends EventType>(
      type: K,
      data: EventData<K>,
      options: { readonly to: 'readers' },
    ): Promise<void>;
  };
  readonly ending: RunView['ending'] & {
    /**
     * Stops everything at once, as an abort does. The agent call fails with this error, or with
     * `INTERNAL` if it is not an `AgentError`. Has no effect from `run-end` on.
     */
    fail(error: unknown): void;
    /**
     * Interrupts this run, as `agent.interrupt()` does. Returns false if the run is about to end.
     */
    interrupt(request?: string | Msg | InterruptRequest): boolean;
    /**
     * Ends the run at its next interrupt point as suspended. Its open tool calls stay open. A
     * middleware that handles a pause needs it.
     */
    suspend(): void;
    /**
     * Runs `work` before the log gets the end of the run, however it ends. Readers get the events
     * that `work` emits before `run-end`. If it fails, the agent call fails. After `next` of
     * `wrapRun`, the log has the end, so `work` does not run.
     */
    before(work: () => Promise<void>): void;
    /**
     * Adds to the result of the agent call. `warning`: an error after which the run continues.
     * `failureMessage`: the message of the result in case the agent call fails later. The first one
     * counts. After `next` of `wrapRun`, a warning comes too late: return it in the result.
     */
    addToResult(more: { readonly warning?: AgentErrorData; readonly failureMessage?: Msg }): void;
  };
  /** Waits of the run for other code. */
  readonly wait: {
    /**
     * Waits for code that may never settle. Rejects with the signal's reason after an abort.
     */
    for<T>(work: T | PromiseLike<T>): Promise<T>;
    /** Returns the value of `work`, whose time does not count toward `limits.timeoutMs`. */
    untimed<T>(work: () => Promise<T>): Promise<T>;
  };
  /** What others ask of the run while it works. */
  readonly inbox: {
    /**
     * Lets middleware handle requests of `interrupt()` and new agent calls, until the run has its
     * ending.
     */
    handle(handler: InboxHandler): void;
    /** Passes more input through `wrapInput`. In a `wrapInput`, call its `next` instead. */
    admit(input: ParsedInput): Promise<ParsedInput>;
  };
}
