import { AgentError } from '../error/agent-error.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { ToolUse } from '../message/content-block.ts';
import type { JsonValue } from '../message/json/json.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, GenerateOptions, RunInfo, ToolSchema } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import type { Tool } from '../tool/tool.ts';
import type { AgentDefaults } from './kernel-options.ts';
import type { Run } from './run.ts';

/** Why a run ends before its answer. */
export type Stopped = 'aborted' | 'interrupted' | 'suspended';

/** A run as middleware sees it. */
export interface RunContext extends RunInfo {
  /** Signal that aborts when the agent call is aborted, interrupted or paused. */
  readonly signal: AbortSignal;
  /** Reason why the run ends before its answer. `undefined` if nothing has stopped the run. */
  readonly stopped: Stopped | undefined;
  /** Milliseconds since 1970, by the agent's clock. */
  now(): number;
  /** Number of model requests so far, without the summary at a limit. */
  readonly iteration: number;
  /** Tokens that the run has used so far. */
  readonly usage: Usage;
  /** The agent's options and those of the agent call, completed with the defaults of middleware. */
  readonly options: Partial<AgentDefaults>;
  /** What the agent keeps between its calls. */
  readonly status: AgentStatus;
  /** The agent's model, inside the `wrapModel` of all middleware. */
  readonly model: ChatModel;
  /**
   * Settings of the run's model requests. Settings of the agent call override settings of the
   * agent.
   */
  readonly generate: GenerateOptions;
  /** The tools of this run. */
  readonly tools: ToolSet;
  /** The tools that middleware added to this run. */
  readonly addedTools: readonly Tool[];
  /** Schemas of the tools that the model may call now. Empty if the model does not support tools. */
  readonly toolSchemas: readonly ToolSchema[];
  /** System prompt of the next model request. Empty if there is none. */
  readonly systemPrompt: string;
  /** The agent's own system prompt, before middleware changed it. */
  readonly agentPrompt: string;
  /** Values that the agent call and the agent provide for tools, by `ContextToken`. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /** The conversation in the log so far, without the system prompt. */
  readonly messages: readonly Msg[];
  /**
   * Messages of the next model request before middleware changes it: system prompt, prepended
   * messages, conversation.
   */
  readonly request: readonly Msg[];
  /** Id of the newest user message when the agent call began. */
  readonly promptId: string | undefined;
  /** Tool calls without a result. */
  readonly openCalls: readonly ToolUse[];
  /** The session's state. The run's next write stores it. */
  readonly state: Record<string, JsonValue>;
  /** Reads the session's state from its log. */
  loadState(): Promise<void>;
  /** Stores the session's state now. */
  storeState(): Promise<void>;
  /**
   * Adds tools for this run. The call's `allowTools` and what other middleware has set do not hide
   * them. Throws `CONFIGURATION` if the run has another tool of the same name.
   */
  addTools(tools: readonly Tool[]): void;
  /** Replaces the tools from the next model request on. */
  setTools(tools: ToolSet): void;
  /**
   * Replaces the system prompt from the next model request on. A blank text removes the system
   * prompt.
   */
  setSystemPrompt(text: string): void;
  /** Adds the usage of a middleware's own model request to the usage of the agent call. */
  addUsage(usage: Usage | undefined): void;
  /** Stops everything at once, as an abort does. The agent call fails with this error. */
  fail(error: AgentError): void;
  /** Interrupts this run, as `agent.interrupt()` does. Returns false if the run is about to end. */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}

/** The context that a run gives to its middleware. */
export class RunView implements RunContext {
  // `run.about` sets these fields.
  readonly runId!: string;
  readonly sessionId!: string;
  readonly userId: string | undefined;
  readonly agentPath!: readonly string[];
  readonly #run: Run;
  readonly #signal: AbortSignal | undefined;

  static runOf(context: RunContext): Run {
    if (#run in Object(context)) return (context as RunView).#run;
    throw new AgentError(
      'CONFIGURATION',
      'A wrapper must pass its own context to `next`, not a copy.',
    );
  }

  /** `signal` replaces the run's stop signal, which also aborts after an interrupt. */
  constructor(run: Run, signal?: AbortSignal) {
    Object.assign(this, run.about);
    this.#run = run;
    this.#signal = signal;
  }

  get signal(): AbortSignal {
    return this.#signal ?? this.#run.stopSignal;
  }

  get stopped(): Stopped | undefined {
    return this.#run.stopped;
  }

  now(): number {
    return this.#run.setup.now();
  }

  get iteration(): number {
    return this.#run.iteration;
  }

  get usage(): Usage {
    return this.#run.usage;
  }

  get options(): Partial<AgentDefaults> {
    return this.#run.options;
  }

  get status(): AgentStatus {
    return this.#run.setup.status;
  }

  get model(): ChatModel {
    return this.#run.setup.model;
  }

  get generate(): GenerateOptions {
    return this.#run.generate;
  }

  get tools(): ToolSet {
    return this.#run.tools;
  }

  get addedTools(): readonly Tool[] {
    const { addedTools, setup } = this.#run;
    return [...addedTools, ...setup.use.flatMap(({ tools }) => tools ?? [])];
  }

  get toolSchemas(): readonly ToolSchema[] {
    return this.#run.schemas();
  }

  get systemPrompt(): string {
    const { systemMessage } = this.#run;
    return systemMessage ? textOf(systemMessage) : '';
  }

  get agentPrompt(): string {
    return this.#run.setup.systemPrompt;
  }

  get toolContext(): ReadonlyMap<object, unknown> {
    return this.#run.toolContext;
  }

  get messages(): readonly Msg[] {
    return this.#run.messages;
  }

  get request(): readonly Msg[] {
    return [...this.#run.head(), ...this.#run.messages];
  }

  get promptId(): string | undefined {
    return this.#run.promptId;
  }

  get openCalls(): readonly ToolUse[] {
    return this.#run.conversation.openCalls();
  }

  get state(): Record<string, JsonValue> {
    return this.#run.state;
  }

  async loadState(): Promise<void> {
    this.#run.throwIfOver();
    const { signal, failure, setup } = this.#run;
    // If the agent refuses this call because another call runs, the state of the running call must
    // not change.
    if (signal.aborted || failure) return;
    await setup.memory.restore?.(setup.status, setup.tools);
  }

  async storeState(): Promise<void> {
    this.#run.throwIfOver();
    await this.#run.setup.memory.flush?.();
  }

  addTools(tools: readonly Tool[]): void {
    this.#run.addTools(tools);
  }

  setTools(tools: ToolSet): void {
    this.#run.tools = tools;
  }

  setSystemPrompt(text: string): void {
    this.#run.systemMessage = this.#run.setup.toSystemMessage(text);
  }

  addUsage(usage: Usage | undefined): void {
    this.#run.addUsage(usage);
  }

  fail(error: AgentError): void {
    this.#run.fail(error);
  }

  /** Bound to the context, because hooks may destructure it as they destructure their controls. */
  readonly interrupt = (request?: string | Msg | InterruptRequest): boolean =>
    this.#run.interrupt(request);
}

/** Returns the run of a context. Throws `CONFIGURATION` unless the loop made the context. */
export function runOf(context: RunContext): Run {
  return RunView.runOf(context);
}

/** Returns the run of a context. A wrapper that hung may ask for it after the end of the run. */
export function liveRunOf(context: RunContext): Run {
  const run = runOf(context);
  run.throwIfOver();
  return run;
}

/** Appends a text to the system prompt, or sets it if there is none. */
export function addToSystemPrompt(context: RunContext, text: string): void {
  if (!text.trim()) return;
  const { systemPrompt } = context;
  context.setSystemPrompt(systemPrompt ? `${systemPrompt}\n\n${text}` : text);
}
