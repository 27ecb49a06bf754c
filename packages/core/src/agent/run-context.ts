import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, RunInfo, ToolSchema, Usage } from '../model/chat-model.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import type { Tool } from '../tool/tool.ts';
import type { HaltReason } from '../wait/halt.ts';
import type { CompletedOptions } from './kernel-options.ts';
import type { OpenCall } from '../event/agent-status.ts';

/**
 * What middleware and hooks know about the running agent call: its messages, tools, usage, options
 * and signals.
 */
export interface RunContext extends RunInfo {
  /**
   * Id of the run that this run continues, for example after a decision. `undefined` if it begins
   * with an input of its own.
   */
  readonly resumes: string | undefined;
  /** The same object in all calls of one agent: a key for what middleware keeps by agent. */
  readonly agentKey: object;
  /** Signal that aborts when the agent call is aborted. */
  readonly signal: AbortSignal;
  /** Signal that aborts when the agent call is aborted, interrupted or paused. */
  readonly stopSignal: AbortSignal;
  /** Signal that aborts when the agent call is interrupted and has to answer. */
  readonly interruptSignal: AbortSignal;
  /** Reason why the run ends before its answer. `undefined` if nothing has stopped the run. */
  readonly stopped: HaltReason | undefined;
  /** Milliseconds since 1970, by the agent's clock. For dates: this clock may go back. */
  now(): number;
  /** Milliseconds since any moment, by a clock that never goes back. For durations. */
  monotonicNow(): number;
  /**
   * Number of model requests of the loop so far, including requests that a hook canceled. Requests
   * of `steps.ask()` do not count.
   */
  readonly iteration: number;
  /** Tokens that the run has used so far. */
  readonly usage: Usage;
  /** The agent's options and those of the agent call, completed with the defaults of middleware. */
  readonly options: CompletedOptions;
  /** The agent's model, inside the `wrapModel` of all middleware. */
  readonly model: ChatModel;
  /** The tools of this run. */
  readonly tools: ToolSet;
  /**
   * The tools in `tools` that are not the agent's own: those of `addTools()`, then those in the
   * member `tools` of middleware. A middleware that replaces the agent's tools leaves them alone.
   */
  readonly addedTools: readonly Tool[];
  /**
   * Schemas of the tools that the model may call now. Empty if the model does not support tools.
   */
  readonly toolSchemas: readonly ToolSchema[];
  /**
   * System prompt of the next model request: the base prompt, then the texts of
   * `addToSystemPrompt()`. Without them, an empty text.
   */
  readonly systemPrompt: string;
  /** The agent's own system prompt, or that of `setSystemPrompt()`. */
  readonly basePrompt: string;
  /** Values that the agent call and the agent provide for tools, by `ContextToken`. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /**
   * The conversation so far, without the system prompt: the messages in the log, and those that
   * `steps.include(messages, 'last')` added, which are not stored.
   */
  readonly messages: readonly Msg[];
  /**
   * Messages of the next model request before `wrapRequest` changes it: the system prompt, the
   * messages of `steps.include()`, then `messages`. Tool results have their whole length. Each use
   * makes a new list.
   */
  readonly requestMessages: readonly Msg[];
  /** Id of the question: the newest user message when the agent call began. */
  readonly questionId: string | undefined;
  /**
   * Tool calls without a result, in the order of the calls. Each has its `state`: whether its tool
   * has started, what it waits for, and the decision about it. Each use makes a new list, so a loop
   * over tool calls should use it once.
   */
  readonly openCalls: readonly OpenCall[];
  /**
   * The session's state. The run's next write stores it. After `next` of `wrapRun` no write
   * follows: call `storeState()` there.
   */
  readonly state: Record<string, JsonValue>;
  /** Reads the session's state from its log, unless this run has read it. */
  loadState(): Promise<void>;
  /** Stores the session's state now. */
  storeState(): Promise<void>;
  /**
   * Adds tools for this run. The call's `allowTools` and what other middleware has set do not hide
   * them. Throws `CONFIGURATION` if the run has another tool of the same name.
   */
  addTools(tools: readonly Tool[]): void;
  /**
   * Replaces the tools of this run. In `wrapRequest`, pass the new `toolSchemas` to `next`: the
   * draft has the schemas of before.
   *
   * @example
   * wrapRequest: (next) => (draft, context) => {
   *   context.setTools(allowTools(context.tools, ['search']));
   *   return next({ ...draft, tools: context.toolSchemas });
   * },
   */
  setTools(tools: ToolSet): void;
  /**
   * Replaces the base of the system prompt from the next model request on. The texts of
   * `addToSystemPrompt()` stay after it.
   */
  setSystemPrompt(text: string): void;
  /** Appends a text to the system prompt from the next model request on, after a blank line. */
  addToSystemPrompt(text: string): void;
  /** Adds the usage of a middleware's own model request to the usage of the agent call. */
  addUsage(usage: Usage | undefined): void;
  /**
   * Stops everything at once, as an abort does. The agent call fails with this error, or with
   * `INTERNAL` if it is not an `AgentError`. Has no effect from `run-end` on.
   */
  fail(error: unknown): void;
  /** Interrupts this run, as `agent.interrupt()` does. Returns false if the run is about to end. */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}
