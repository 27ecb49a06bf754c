import { reportFailure } from '../../error/report-failure.ts';
import { checkId } from '../../error/check-id.ts';
import { markAsProgram } from '../../message/metadata.ts';
import { AgentError, type AgentErrorData } from '../../error/agent-error.ts';
import { HookDispatcher } from '../../event/hook-dispatcher.ts';
import type { AgentStatus, OpenCall } from '../../event/agent-status.ts';
import { checkInterrupt, modesPart } from '../../event/interrupt-request.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import { createMessage, toolUsesOf, type Msg } from '../../message/msg.ts';
import type { JsonValue } from '../../message/json.ts';
import { CallTimeout } from '../../wait/call-timeout.ts';
import { addUsage, noUsage, runInfo } from '../../model/chat-model.ts';
import type { ChatModel, RunInfo, ToolSchema, Usage } from '../../model/chat-model.ts';
import { TimerYield } from '../../wait/timer-yield.ts';
import { BoundedWaits } from '../../wait/bounded-waits.ts';
import { markHandled } from '../../wait/mark-handled.ts';
import { toolsBefore, type ToolSet } from '../../tool/set/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';
import { parentPath } from '../../tool/context-token.ts';
import { Haltable } from '../../wait/halt.ts';
import { Inbox, type InboxHandler } from './inbox.ts';
import type { AgentSettings, KernelCallOptions } from '../kernel-options.ts';
import type { AgentHook } from '../middleware.ts';
import { requirePart, runOptions } from '../check-options.ts';
import { Conversation } from '../../message/conversation.ts';
import { openCallsOf } from './open-calls.ts';
import { Outbox, type JumpRequest, type SendEvents } from './outbox.ts';
import type { RunContext } from '../run-context.ts';
import type { RunSetup } from './run-setup.ts';
import { restore, type LogProgress } from './run-log.ts';
import type { Steps } from '../steps.ts';

/**
 * State of one agent call. The loop reads and changes it. Middleware gets it as `RunContext`, whose
 * functions are fields here, because hooks destructure them as they destructure their controls.
 */
export class Run extends Haltable implements RunContext {
  // What the run is made of.
  readonly setup: RunSetup;
  readonly callOptions: KernelCallOptions;
  /** The options of the agent and of the agent call. */
  readonly options: AgentSettings;
  readonly runId: string;
  readonly sessionId: string;
  readonly userId: string | undefined;
  readonly agentPath: readonly string[];
  /** The model inside the wrappers of all middleware. */
  readonly model: ChatModel;
  /** Values for tools, by `ContextToken`. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  readonly status: AgentStatus;
  readonly agentKey: object;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  /** Begin of the run, by `monotonicNow`. */
  readonly startedAt: number;

  // Its parts.
  readonly hooks: HookDispatcher;
  readonly outbox: Outbox = new Outbox(this);
  /** What others ask of this run. */
  readonly inbox: Inbox = new Inbox();
  /** Waits for code that may never settle, such as hooks and stores. */
  readonly waits: BoundedWaits = new BoundedWaits(this);
  readonly timerYield: TimerYield;
  readonly timeout: CallTimeout;
  readonly progress: LogProgress = { beforeEnd: [] };
  /** What wrappers may do to the run. */
  readonly steps: Steps;

  // The conversation, and what the next model request adds to it.
  /** Empty until the run has read the log. */
  conversation: Conversation = new Conversation();
  /** Messages between system prompt and conversation in each model request. Never stored. */
  readonly prepended: Msg[] = [];
  basePrompt: string;
  readonly #addedPrompts: string[] = [];
  tools: ToolSet;
  readonly #addedTools: Tool[] = [];
  /** What hooks ask for at tool calls, until the loop carries it out. */
  roundJump: JumpRequest = {};
  /** Id of the run that this run continues. */
  resumes: string | undefined;
  /** Id of the question: the newest user message when the agent call began. */
  questionId: string | undefined;

  // What the result says.
  iteration = 0;
  usage: Usage = noUsage;
  /** Names of the tools that started, in this order. */
  readonly toolsUsed: Set<string> = new Set();
  /** Errors after which the run continued. */
  readonly warnings: AgentErrorData[] = [];
  /** Message of the result if the agent call fails. */
  failureMessage: Msg | undefined;

  /** Copy of the session's values for code that runs after the end of the run. */
  #leftState: Record<string, JsonValue> | undefined;

  constructor(
    setup: RunSetup,
    callOptions: KernelCallOptions,
    hooks: () => readonly AgentHook[],
    // A parameter, because a run knows no step of the loop.
    stepsOf: (run: Run) => Steps,
  ) {
    super();
    const { options, tools } = setup;
    this.setup = setup;
    this.callOptions = callOptions;
    this.status = setup.status;
    this.agentKey = setup.status;
    this.model = setup.model;
    this.now = options.now;
    this.monotonicNow = options.monotonicNow;
    this.startedAt = this.monotonicNow();
    this.options = runOptions(options, callOptions);
    this.runId = options.generateId();
    checkId(this.runId, 'run id from generateId()', 'CONFIGURATION');
    this.sessionId = setup.sessionId;
    this.userId = options.userId;
    this.timerYield = new TimerYield(this.startedAt);
    this.timeout = new CallTimeout({
      timeoutMs: options.limits.timeoutMs,
      now: this.monotonicNow,
      onTimeout: this.fail,
    });
    this.hooks = new HookDispatcher(hooks, {
      run: this,
      onError: options.onHookError,
      waits: this.waits,
    });
    this.steps = stepsOf(this);
    this.basePrompt = options.systemPrompt ?? '';
    this.tools = tools;
    this.toolContext = new Map([
      ...(tools.toolContext ?? []),
      ...(options.toolContext ?? []),
      ...(callOptions.toolContext ?? []),
    ]);
    const callerPath = (this.toolContext.get(parentPath) ?? []) as readonly string[];
    this.agentPath = [...callerPath, options.name];
  }

  /**
   * Connects the run with its readers and the caller's signal. The constructor does not, because
   * the run may never start.
   */
  begin(send: SendEvents): void {
    this.outbox.deliver = send;
    const { signal } = this.callOptions;
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort);
  }

  /** Ends the run. The caller's signal may live longer than many runs. */
  end(): void {
    this.enterStage('over');
    // Its timer would outlive the run.
    this.timeout.pause();
    this.setup.keptConversation.keep(this.conversation);
    this.callOptions.signal?.removeEventListener('abort', this.#onAbort);
  }

  toJSON(): RunInfo {
    return runInfo(this);
  }

  readonly #onAbort = (): void => this.abort(this.callOptions.signal?.reason);

  readonly interrupt = (input: string | Msg | InterruptRequest = {}): boolean => {
    const request = checkInterrupt(input, this.options);
    if (this.stage !== 'running') return false;
    const offer = (handler: InboxHandler): boolean | undefined => handler.interrupt?.(request);
    const isTaken = this.inbox.offer(offer);
    if (isTaken !== undefined) return isTaken;
    if (request.mode === 'stop') {
      this.stopWith({ kind: 'interrupted', message: request.message });
    } else {
      requirePart(this.setup.use, modesPart, `interrupt({ mode: '${request.mode}' })`);
      this.inbox.keep((handler) => this.#offerLate(() => offer(handler)));
    }
    return true;
  };

  /**
   * Offers a request that came before its handler. Nobody waits for the answer any more, and the
   * running call must not fail because of a request that is not valid.
   */
  #offerLate(offer: () => boolean | undefined): boolean | undefined {
    try {
      return offer();
    } catch (error) {
      reportFailure('interrupt(): the request was dropped.', undefined, error);
      return false;
    }
  }

  /**
   * Returns the run. Throws `ABORTED` after its end, so that code that still runs changes nothing.
   */
  alive(): this {
    if (this.stage === 'over') throw new AgentError('ABORTED', 'The run has ended.');
    return this;
  }

  /** The session's values. Code that still runs after the end of the run gets a copy. */
  get state(): Record<string, JsonValue> {
    const { state } = this.status;
    if (this.stage === 'over' && this.waits.abandoned) this.#leftState ??= structuredClone(state);
    return this.#leftState ?? state;
  }

  get messages(): readonly Msg[] {
    return this.conversation.messages;
  }

  /** The newest assistant message of the conversation. */
  get lastReply(): Msg | undefined {
    return this.messages.findLast(({ role }) => role === 'assistant');
  }

  get requestMessages(): readonly Msg[] {
    const { setup, systemPrompt, prepended, messages } = this;
    return [...setup.systemMessages(systemPrompt), ...prepended, ...messages];
  }

  get openCalls(): readonly OpenCall[] {
    return openCallsOf(this);
  }

  get addedTools(): readonly Tool[] {
    return [...this.#addedTools, ...this.setup.use.flatMap(({ tools }) => tools ?? [])];
  }

  readonly addTools = (tools: readonly Tool[]): void => {
    this.tools = toolsBefore(this.tools, tools);
    this.#addedTools.push(...tools);
  };

  readonly setTools = (tools: ToolSet): void => {
    this.tools = tools;
  };

  get toolSchemas(): readonly ToolSchema[] {
    return this.model.features.tools ? this.tools.schemas() : [];
  }

  get systemPrompt(): string {
    return [this.basePrompt, ...this.#addedPrompts].filter((text) => text.trim()).join('\n\n');
  }

  readonly setSystemPrompt = (text: string): void => {
    this.basePrompt = text;
  };

  readonly addToSystemPrompt = (text: string): void => {
    this.#addedPrompts.push(text);
  };

  /** Notes that a tool started, or that its result is given. */
  noteUse({ name, givesAnswer }: Tool): void {
    if (!givesAnswer) this.toolsUsed.add(name);
  }

  readonly addUsage = (usage: Usage | undefined): void => {
    if (usage) this.usage = addUsage(this.usage, usage);
  };

  message(...[role, content, options]: Parameters<Steps['message']>): Msg {
    const { generateId, now, name } = this.options;
    const speaker = role === 'assistant' && { name };
    const message = createMessage(role, content, { ...options, ...speaker, generateId, now });
    return role === 'user' ? markAsProgram(message) : message;
  }

  readonly loadState = (): Promise<void> => markHandled(this.#loadState());

  async #loadState(): Promise<void> {
    const { aborted, failure } = this.alive();
    // If the agent refuses this call because another call runs, the state of the running call must
    // not change.
    if (!aborted && !failure) await restore(this);
  }

  readonly storeState = (): Promise<void> => markHandled(this.#storeState());

  async #storeState(): Promise<void> {
    await this.alive().setup.memory.flush?.();
  }

  /**
   * Returns the message with role `assistant`. Sets the agent's name, but keeps the name of an
   * assistant message.
   */
  asReply(message: Msg): Msg {
    const assistantName = message.role === 'assistant' ? message.name : undefined;
    return { ...message, role: 'assistant', name: assistantName ?? this.options.name };
  }

  /**
   * Returns a reply that the log does not have. A program may use one message as several replies,
   * so the ids that the log already has are new in the copy.
   */
  asNewReply(message: Msg): Msg {
    return this.conversation.withNewIds(this.asReply(message), this.options.generateId);
  }

  /** Returns what takes the place of `original`. A stored message keeps its id and tool calls. */
  asChanged(message: Msg, original: Msg): Msg {
    const stored = this.conversation.find(original.id);
    if (!stored) return this.asNewReply(message);
    const content = message.content.filter(({ type }) => type !== 'tool_use');
    return this.asReply({
      ...message,
      id: stored.id,
      content: [...content, ...toolUsesOf(stored)],
    });
  }
}
