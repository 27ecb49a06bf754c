import { AgentError, type AgentErrorData } from '../../error/agent-error.ts';
import { keysIn } from '../../error/check-fields.ts';
import type { AgentEvent, AgentEventBase, EventBatch, EventOf } from '../../event/agent-event.ts';
import type { ControlOf } from '../../event/hook.ts';
import { HookDispatcher } from '../../event/hook-dispatcher.ts';
import { toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import { createMessage } from '../../message/create-message.ts';
import type { ContentBlock, ToolUse } from '../../message/content-block.ts';
import type { WriteOptions } from '../../memory/memory.ts';
import type { JsonObject, JsonValue } from '../../message/json/json.ts';
import type { Msg, Role } from '../../message/msg.ts';
import type { Writable } from '../../message/writable.ts';
import type { GenerateOptions, RunInfo, ToolSchema } from '../../model/chat-model.ts';
import { generateFields } from '../../model/chat-model.ts';
import { Pace } from '../../model/pace.ts';
import { addUsage, noUsage, type Usage } from '../../model/usage.ts';
import { allowTools } from '../../tool/set/tool-set.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import type { Interruption } from '../../event/interrupt-request.ts';
import { asReply } from '../ending.ts';
import type { Jump } from '../jump.ts';
import { loopSteps, type EventFields, type LoopSteps } from '../loop-steps.ts';
import type { Outbox } from './outbox.ts';
import type { OutputRun } from '../output-mode.ts';
import { Conversation, keepConversation, openConversation } from './conversation.ts';
import { callTimeout, type CallTimeout } from './call-timeout.ts';
import { checkEvent } from './check-event.ts';
import { Injections } from './injections.ts';
import { mappedEvents } from './mapped-events.ts';
import type { RunContext } from './run-context.ts';
import type { CallOptions, RunParts, RunSetup } from './run-setup.ts';
import { RunView } from './run-view.ts';
import { Waits } from './waits.ts';
import { Writes } from './writes.ts';

type EventType = AgentEvent['type'];

/** State of one agent call. The steps of the loop read and change it. */
export class Run {
  readonly id: string;
  readonly setup: RunSetup;
  readonly options: CallOptions;
  readonly generate: GenerateOptions;
  readonly hooks: HookDispatcher;
  readonly startedAt: number;
  /** Values for tools, by `ContextToken`. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /** The run as middleware sees it. */
  readonly context: RunContext;
  /** The run as guards see it. An interrupt does not abort its signal. */
  readonly guarding: RunContext;
  readonly steps: LoopSteps;
  /** Ids of the run, for events and for wrappers of the model and the tools. */
  readonly about: RunInfo;
  /** Waits for code that may never settle, such as hooks and stores. */
  readonly waits: Waits;
  readonly writes: Writes;
  readonly pace: Pace;
  readonly timeout: CallTimeout;
  /** Empty until the run has read the log. */
  conversation: Conversation = new Conversation();
  /** Whether the run has ended. Hooks and wrappers that still run can no longer change the run. */
  over = false;
  readonly #abort: AbortController = new AbortController();
  readonly #outbox: Outbox;
  #leftState: Record<string, JsonValue> | undefined;
  #seq = 0;
  #modelAbort: AbortController | undefined;
  #stopAbort: AbortController | undefined;
  #interruptAbort: AbortController | undefined;

  systemMessage: Msg | undefined;
  iteration = 0;
  usage: Usage = noUsage;
  readonly toolsUsed: Set<string> = new Set();
  /** The agent's tools and the tools of the output mode. */
  tools: ToolSet;
  output: OutputRun | undefined;
  /** The model's last reply. After an abort, the loop stores the text of this reply. */
  unsaved: Msg | undefined;
  /** Message of the result if the agent call fails. */
  remains: Msg | undefined;
  /** Instructions of the call, and messages that middleware recalled. Never in the log. */
  readonly recalled: Msg[] = [];
  /** Id of the newest user message when the agent call began. */
  promptId: string | undefined;
  /** Id of an answer that an earlier run stored and this run returns. */
  storedAnswer: string | undefined;
  readonly injections: Injections = new Injections();
  /** The input after the guards. Set if the guards started before the turn of this agent call. */
  guarded: Promise<readonly Msg[]> | undefined;
  /** Errors after which the run continued. */
  readonly warnings: AgentErrorData[] = [];
  /** Number of tool calls that the model made, whether they ran or not. */
  toolCalls = 0;
  /** A hook's request to end the agent call at `pre-summary`. */
  stopped: Jump | undefined;
  /** A hook's rejection at `run-start` or `pre-call`. */
  refusal: AgentError | undefined;
  /** The error to throw once the tool calls are closed. */
  failure: AgentError | undefined;
  /** Whether the run no longer accepts interrupts and injected messages. */
  closed = false;
  /** The interrupt request. The loop checks it at its interrupt points. */
  interruption: Interruption | undefined;

  constructor(setup: RunSetup, options: CallOptions, { hooks, outbox }: RunParts) {
    const { allowTools: allowed, toolContext = [] } = options;
    const settings = Object.entries(options).filter(([key]) =>
      keysIn(generateFields).includes(key),
    );
    this.setup = setup;
    this.id = setup.generateId();
    this.startedAt = setup.now();
    const { userId, name } = setup.options;
    this.about = { runId: this.id, sessionId: setup.sessionId, userId, agentPath: [name] };
    this.options = options;
    this.generate = { ...setup.options.generate, ...Object.fromEntries(settings) };
    this.#outbox = outbox;
    this.waits = new Waits(this.signal);
    this.writes = new Writes(this.waits, setup.unwritten);
    this.pace = new Pace(this.startedAt);
    this.timeout = callTimeout(this);
    this.context = new RunView(this);
    this.guarding = new RunView(this, this.signal);
    this.steps = loopSteps(this);
    this.hooks = new HookDispatcher(hooks, {
      context: this.context,
      onError: setup.options.onHookError,
      // After a hook rejects the agent call, later hooks of the same event do not run.
      isOver: (type) => this.refusal !== undefined && (type === 'run-start' || type === 'pre-call'),
      wait: (work, isNotice) => this.waits.hook(work, isNotice),
      check: checkEvent,
    });
    this.systemMessage = setup.systemMessage;
    this.tools = allowed ? allowTools(setup.tools, allowed) : setup.tools;
    this.toolContext = new Map([
      ...(setup.tools.context ?? []),
      ...(setup.options.toolContext ?? []),
      ...toolContext,
    ]);
  }

  /**
   * Starts to listen to the caller's signal. The constructor does not listen, because the run may
   * never start.
   */
  begin(): void {
    const { signal } = this.options;
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort);
  }

  /** Ends the run. The caller's signal may live longer than many runs. */
  end(): void {
    this.over = true;
    keepConversation(this.conversation);
    this.options.signal?.removeEventListener('abort', this.#onAbort);
  }

  /** The session's values. Code that still runs after the end of the run gets a copy. */
  get state(): Record<string, JsonValue> {
    if (this.over && this.waits.abandoned)
      this.#leftState ??= structuredClone(this.setup.status.state);
    return this.#leftState ?? this.setup.status.state;
  }

  readonly #onAbort = (): void => this.abort(this.options.signal?.reason);

  /** Reason why the loop has to stop. `undefined` if the loop may continue. */
  get cut(): 'aborted' | 'paused' | 'interrupted' | undefined {
    if (this.signal.aborted) return 'aborted';
    return this.interruption && (this.interruption.mode === 'pause' ? 'paused' : 'interrupted');
  }

  /** Signal that aborts when the run is aborted. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(reason?: unknown): void {
    this.#abort.abort(reason);
    this.#modelAbort?.abort(reason);
    this.#stopAbort?.abort(reason);
  }

  /** Throws `ABORTED` if the run has ended, so that code that still runs changes nothing. */
  throwIfOver(): void {
    if (this.over) throw new AgentError('ABORTED', 'The run has ended.');
  }

  /** Stops everything at once, as an abort does, and makes the agent call fail. */
  fail(error: unknown): void {
    if (!this.signal.aborted) this.failure = AgentError.from(error);
    this.abort(this.failure);
  }

  interrupt(interruption: Interruption): void {
    this.interruption ??= interruption;
    this.#modelAbort?.abort();
    this.#stopAbort?.abort();
    if (this.cut === 'interrupted') this.#interruptAbort?.abort();
  }

  /** Signal that aborts after an interrupt. A pause or an abort of the run does not abort it. */
  get interruptSignal(): AbortSignal {
    return (this.#interruptAbort ??= new AbortController()).signal;
  }

  /** Signal that aborts after an abort, an interrupt or a pause of the run. */
  get stopSignal(): AbortSignal {
    if (!this.#stopAbort) {
      this.#stopAbort = new AbortController();
      if (this.cut) this.#stopAbort.abort(this.signal.reason);
    }
    return this.#stopAbort.signal;
  }

  /** Returns the signal for one model request. Check `cut` for an earlier abort or interrupt. */
  modelSignal(): AbortSignal {
    this.#modelAbort = new AbortController();
    return this.#modelAbort.signal;
  }

  /** Maps events and sends them to the reader. Resolves when the reader asks for more. */
  push(events: EventBatch): Promise<void> {
    return this.give(this.shown(events));
  }

  /** Sends events to the reader without mapping. */
  give(events: EventBatch): Promise<void> {
    return this.#outbox.push(events);
  }

  /** Returns the events that readers get, after `mapEvent`. */
  shown(events: EventBatch): EventBatch {
    return mappedEvents(this.setup.use, events, this.context);
  }

  event<K extends AgentEvent['type']>(type: K, fields: EventFields<K>): EventOf<K> {
    return this.stamp({ type, ...fields }, this.setup.now()) as unknown as EventOf<K>;
  }

  /** Adds the fields of `AgentEventBase`, in place. A copy of each delta would be slow. */
  stamp<F extends object>(fields: F, at: number): F & AgentEventBase {
    const event = fields as F & Writable<AgentEventBase>;
    const { about } = this;
    event.runId = about.runId;
    event.sessionId = about.sessionId;
    if (about.userId) event.userId = about.userId;
    event.agentPath = about.agentPath;
    event.seq = ++this.#seq;
    event.iteration = this.iteration;
    event.at = at;
    return event;
  }

  /** Returns the events of a child run with sequence numbers of this run. */
  adopt(events: readonly AgentEvent[]): EventBatch {
    return events.map((event) => ({ ...event, seq: ++this.#seq }));
  }

  /** Passes a modifiable event through the hooks and returns the event that they return. */
  async modify<K extends EventType>(
    type: K,
    fields: EventFields<K>,
    control?: ControlOf<K>,
    renew?: (event: EventOf<K>) => Promise<EventOf<K>>,
  ): Promise<EventOf<K>> {
    const event = this.event(type, fields);
    // A request that no middleware changed is valid. To check a long request would be slow.
    const isOwn = type === 'pre-reasoning' && !this.recalled[0] && !this.setup.policies.length;
    if (!isOwn) checkEvent(event);
    return this.hooks.modify<K>(event, control, renew);
  }

  /**
   * Passes a message through the hooks. If they change it, the reader gets a `step-reset` first.
   */
  async revise(
    type: 'post-reasoning' | 'post-summary' | 'post-call',
    message: Msg,
    control?: ControlOf<'post-reasoning'>,
  ): Promise<Msg> {
    let event: AgentEvent & { readonly message: Msg } = await this.modify(
      type,
      { message },
      control as never,
    );
    if (event.message !== message) {
      const replacement = asReply(this, event.message);
      await this.tell('step-reset', { reason: type, replacement });
      event = this.stamp({ ...event, message: replacement }, event.at);
    }
    await this.push([event]);
    return event.message;
  }

  /** Sends a notification to the hooks, then to the reader. */
  async tell<K extends EventType>(
    type: K,
    fields: EventFields<K>,
    control?: ControlOf<K>,
  ): Promise<void> {
    const event = this.event(type, fields);
    await this.hooks.notify<K>(event, control);
    await this.push([event]);
  }

  message(
    role: Role,
    content: string | readonly ContentBlock[],
    options: { id?: string; metadata?: JsonObject } = {},
  ): Msg {
    const { generateId, now, options: agent } = this.setup;
    const speaker = role === 'assistant' && { name: agent.name };
    return createMessage(role, content, { ...options, ...speaker, generateId, now });
  }

  get toolCallsLeft(): boolean {
    return this.toolCalls < (this.setup.options.limits?.toolCalls ?? Infinity);
  }

  /** Returns the schemas of the tools that the model may call now. */
  schemas(): readonly ToolSchema[] {
    return this.setup.model.features.tools && this.toolCallsLeft ? this.tools.schemas() : [];
  }

  /**
   * Returns the messages of the next model request before fitting (AgentScope: message assembly).
   */
  request(): readonly Msg[] {
    const { systemMessage } = this;
    return [...(systemMessage ? [systemMessage] : []), ...this.recalled, ...this.view];
  }

  /**
   * Appends messages to the log, then to `view`. Adds the run's id to user messages, so that the
   * log shows where each turn begins.
   */
  async append(given: readonly Msg[], options?: WriteOptions): Promise<void> {
    if (!given.length) return;
    const messages = given.map((message) =>
      message.role === 'user'
        ? { ...message, metadata: { ...message.metadata, runId: this.id } }
        : message,
    );
    await this.writes.wait(this.setup.memory.append(messages, options), () => {
      this.conversation.add(messages);
      const { calls } = this.setup.status;
      for (const message of messages) {
        for (const { id } of toolUsesOf(message)) calls.set(id, {});
        for (const { toolUseId } of toolResultsOf(message)) calls.delete(toolUseId);
      }
    });
  }

  /** Closes the run to new messages, stores the unanswered ones and flushes the memory. */
  async close(reason: string): Promise<void> {
    this.closed = true;
    await this.append(await this.injections.takeLast(this.signal));
    const { memory, status } = this.setup;
    await this.writes.wait(memory.flush?.({ runId: this.id, reason, calls: status.calls }));
  }

  /** The conversation in the log, without the system prompt. */
  get view(): readonly Msg[] {
    return this.conversation.messages;
  }

  set view(messages: readonly Msg[]) {
    this.conversation.replace(messages);
  }

  /** Takes over the messages of the log. */
  load(messages: readonly Msg[]): void {
    this.conversation = openConversation(messages);
  }

  /** Returns the tool calls without a result. */
  openCalls(): readonly ToolUse[] {
    return this.conversation.openCalls();
  }

  addUsage(usage: Usage | undefined): void {
    if (usage) this.usage = addUsage(this.usage, usage);
  }
}
