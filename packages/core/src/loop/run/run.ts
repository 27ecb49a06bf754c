import { AgentError, messageOf } from '../../error/agent-error.ts';
import type { AgentEvent, AgentEventBase, EventBatch, EventOf } from '../../event/agent-event.ts';
import type { ControlOf } from '../../event/hook.ts';
import { HookDispatcher } from '../../event/hook-dispatcher.ts';
import { isBlock } from '../../message/is-block.ts';
import { isRecord } from '../../message/is-record.ts';
import { toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import { createMessage } from '../../message/create-message.ts';
import type { ContentBlock } from '../../message/content-block.ts';
import type { JsonObject } from '../../message/json.ts';
import type { Msg, Role } from '../../message/msg.ts';
import { inRequestOrder, openCalls } from '../../message/tool-pairs.ts';
import type { Writable } from '../../message/writable.ts';
import type { GenerateOptions, RunInfo, ToolSchema } from '../../model/chat-model.ts';
import { addUsage, noUsage, type Usage } from '../../model/usage.ts';
import { allowTools } from '../../tool/allow-tools.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import { isMessage } from '../call-input.ts';
import type { Interruption } from '../../event/interrupt-request.ts';
import type { Jump } from '../jump.ts';
import { loopSteps, type EventFields, type LoopSteps } from '../loop-steps.ts';
import type { Middleware } from '../use/middleware.ts';
import type { Outbox } from './outbox.ts';
import type { OutputRun } from '../output-mode.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import type { RunContext } from './run-context.ts';
import type { CallOptions, RunParts, RunSetup } from './run-setup.ts';
import { RunView } from './run-view.ts';

type EventType = AgentEvent['type'];

const areMessages = (value: unknown): value is readonly Msg[] =>
  Array.isArray(value) && value.every(isMessage);

function mapped(part: Middleware, event: AgentEvent, context: RunContext): AgentEvent {
  try {
    return part.mapEvent!(event, context);
  } catch (cause) {
    const message = `mapEvent of "${part.name ?? 'unnamed'}" failed: ${messageOf(cause)}`;
    throw new AgentError('HOOK_ERROR', message, { cause });
  }
}

/** What the fields of modifiable events have to be, so that no hook can break the log. */
const isFit: Readonly<Record<string, (value: unknown) => boolean>> = {
  message: isMessage,
  // Law 3: each call with its result right after it.
  messages: (value) =>
    areMessages(value) && !openCalls(value).length && inRequestOrder(value) === value,
  input: areMessages,
  toolUse: isBlock,
  result: isBlock,
  tools: Array.isArray,
  options: isRecord,
};

/** One call's state: what its steps read and move on. */
export class Run {
  readonly id: string;
  readonly setup: RunSetup;
  readonly options: CallOptions;
  readonly generate: GenerateOptions;
  readonly hooks: HookDispatcher;
  readonly startedAt: number;
  /** What is provided for tokens. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /** What middleware sees of the run. */
  readonly context: RunContext;
  /** The same for guards: its signal is raised by an abort alone. */
  readonly guarding: RunContext;
  readonly steps: LoopSteps;
  /** In each event; and for what stands around the model and the tools. */
  readonly about: RunInfo;
  readonly #abort: AbortController = new AbortController();
  readonly #toolUseIds: Set<string> = new Set();
  readonly #outbox: Outbox;
  #seq = 0;
  #modelAbort: AbortController | undefined;
  #stopAbort: AbortController | undefined;

  systemMessage: Msg | undefined;
  iteration = 0;
  usage: Usage = noUsage;
  readonly toolsUsed: Set<string> = new Set();
  /** The agent's tools, and what this run adds to them. */
  tools: ToolSet;
  output: OutputRun | undefined;
  /** What a call that fails has to show all the same. */
  remains: Msg | undefined;
  /** What middleware recalled: in each request, never in the log. */
  readonly recalled: Msg[] = [];
  /** The conversation as the log has it, without the system prompt. */
  view: Msg[] = [];
  /** The message this call was made with. */
  promptId: string | undefined;
  /** Tool calls that the run leaves to somebody. */
  pending: readonly PendingCall[] = [];
  /** Messages that came in while the run was busy, not in the log yet. */
  injected: Msg[] = [];
  /** Tool calls that ran, or are somebody's. */
  toolCalls = 0;
  /** A hook's request to end the call at `pre-summary`. */
  stopped: Jump | undefined;
  /** A hook's no at `run-start`. */
  refusal: AgentError | undefined;
  /** Why the run has to fail once its tool calls are closed. */
  failure: AgentError | undefined;
  /** Past the point where an interrupt or an injected message could reach it. */
  closed = false;
  /** Set by an interrupt; the loop looks at it at its interrupt points. */
  interruption: Interruption | undefined;

  constructor(setup: RunSetup, options: CallOptions, { hooks, outbox }: RunParts) {
    const {
      signal: _signal,
      detached: _detached,
      throwOnError: _throw,
      allowTools: allowed,
      toolContext = [],
      output: _output,
      returnDirect: _direct,
      ...generate
    } = options;
    this.setup = setup;
    this.id = setup.generateId();
    this.startedAt = setup.now();
    const { userId, name } = setup.options;
    this.about = { runId: this.id, sessionId: setup.sessionId, userId, agentPath: [name] };
    this.options = options;
    this.generate = { ...setup.options.generate, ...generate };
    this.#outbox = outbox;
    this.context = new RunView(this);
    this.guarding = new RunView(this, this.signal);
    this.steps = loopSteps(this);
    this.hooks = new HookDispatcher(hooks, {
      context: this.context,
      onError: setup.options.onHookError,
    });
    this.systemMessage = setup.systemMessage;
    this.tools = allowed ? allowTools(setup.tools, allowed) : setup.tools;
    this.toolContext = new Map([
      ...(setup.tools.context ?? []),
      ...(setup.options.toolContext ?? []),
      ...toolContext,
    ]);
  }

  /** Listens to the caller's signal; not before, as a stream may never be read. */
  begin(): void {
    const { signal } = this.options;
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort);
  }

  /** Lets go of the caller's signal, which may outlive many runs. */
  end(): void {
    this.options.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.abort(this.options.signal?.reason);

  /** What keeps the loop from going on, if anything does. */
  get cut(): 'aborted' | 'paused' | 'interrupted' | undefined {
    if (this.signal.aborted) return 'aborted';
    return this.interruption && (this.interruption.mode === 'pause' ? 'paused' : 'interrupted');
  }

  /** Raised by the caller's signal or `cancel()`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(reason?: unknown): void {
    this.#abort.abort(reason);
    this.#modelAbort?.abort(reason);
    this.#stopAbort?.abort(reason);
  }

  /** Stops everything at once, as an abort does, and has the call fail. */
  fail(error: AgentError): void {
    if (!this.signal.aborted) this.failure = error;
    this.abort(error);
  }

  interrupt(interruption: Interruption): void {
    this.interruption ??= interruption;
    this.#modelAbort?.abort();
    this.#stopAbort?.abort();
  }

  /** Raised by an abort, an interrupt and a pause. */
  get stopSignal(): AbortSignal {
    if (!this.#stopAbort) {
      this.#stopAbort = new AbortController();
      if (this.cut) this.#stopAbort.abort(this.signal.reason);
    }
    return this.#stopAbort.signal;
  }

  /**
   * For one model request: raised by an abort and by an interrupt from now on; what came before
   * shows in `cut`.
   */
  modelSignal(): AbortSignal {
    this.#modelAbort = new AbortController();
    return this.#modelAbort.signal;
  }

  /** Gives events to the reader. Resolves when the next ones are asked for. */
  push(events: EventBatch): Promise<void> {
    return this.give(this.shown(events));
  }

  /** The same, as the events are. */
  give(events: EventBatch): Promise<void> {
    return this.#outbox.push(events);
  }

  /** The events as the middleware has readers see them. */
  shown(events: EventBatch): EventBatch {
    const mappers = this.setup.use.filter(({ mapEvent }) => mapEvent);
    const type = events[0]?.type;
    // A batch of deltas has nothing to map, and there are thousands of them.
    const isDeltas = type?.endsWith('-chunk') && type !== 'acting-chunk';
    if (!mappers.length || isDeltas) return events;
    // Of a sub-agent's events its own agent has the say.
    return events.map((event) =>
      event.runId === this.id
        ? mappers.reduceRight((shown, part) => mapped(part, shown, this.context), event)
        : event,
    );
  }

  event<K extends AgentEvent['type']>(type: K, fields: EventFields<K>): EventOf<K> {
    return this.stamp({ type, ...fields }, this.setup.now()) as unknown as EventOf<K>;
  }

  /**
   * Makes an event of its fields, in place: a copy per delta would cost more than all the rest of a
   * delta's way.
   */
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

  /** Another run's events at their place in this one. */
  adopt(events: readonly AgentEvent[]): EventBatch {
    return events.map((event) => ({ ...event, seq: ++this.#seq }));
  }

  /** A modifiable event: the hooks' version of it. */
  async modify<K extends EventType>(
    type: K,
    fields: EventFields<K>,
    control?: ControlOf<K>,
  ): Promise<EventOf<K>> {
    const given = this.event(type, fields);
    const event = await this.hooks.modify<K>(given, control, () => this.isRefusedAt(type));
    // The run's own request is in order; to look through a long one again would cost more than all
    // else of a step.
    const isOwn =
      type === 'pre-reasoning' &&
      event === given &&
      !this.recalled[0] &&
      !this.setup.policies.length;
    const wrong =
      !isOwn && Object.keys(fields).find((key) => !isFit[key]!(event[key as keyof typeof event]));
    if (wrong)
      throw new AgentError('HOOK_ERROR', `A hook or policy left no valid ${wrong} in ${type}.`, {
        details: { event: type, field: wrong },
      });
    return event;
  }

  /**
   * Lets the hooks have a message; what they make of it is announced before it is given out (law
   * 2).
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
      await this.tell('step-reset', { reason: type, replacement: event.message });
      event = this.stamp({ ...event }, event.at);
    }
    await this.push([event]);
    return event.message;
  }

  /** A hook's no ends its event; the events after it are told as ever. */
  isRefusedAt(type: EventType): boolean {
    return this.refusal !== undefined && (type === 'run-start' || type === 'pre-call');
  }

  /** A notification, told to the hooks and given to the reader. */
  async tell<K extends EventType>(
    type: K,
    fields: EventFields<K>,
    control?: ControlOf<K>,
  ): Promise<void> {
    const event = this.event(type, fields);
    await this.hooks.notify<K>(event, control, () => this.isRefusedAt(type));
    await this.push([event]);
  }

  message(
    role: Role,
    content: string | readonly ContentBlock[],
    options: { id?: string; metadata?: JsonObject } = {},
  ): Msg {
    const { generateId, now } = this.setup;
    return createMessage(role, content, { ...options, generateId, now });
  }

  get toolCallsLeft(): boolean {
    return this.toolCalls < (this.setup.options.limits?.toolCalls ?? Infinity);
  }

  /** What the model may call now. */
  schemas(): readonly ToolSchema[] {
    return this.setup.model.features.tools && this.toolCallsLeft ? this.tools.schemas() : [];
  }

  /** What the model is asked with, before it is made to fit (AgentScope: message assembly). */
  request(): readonly Msg[] {
    const { systemMessage } = this;
    return [...(systemMessage ? [systemMessage] : []), ...this.recalled, ...this.view];
  }

  /**
   * Puts messages into the log, then into the view. What a user said is marked with the run: only
   * so can turns be told apart later.
   */
  async append(given: readonly Msg[]): Promise<void> {
    if (!given.length) return;
    const messages = given.map((message) =>
      message.role === 'user'
        ? { ...message, metadata: { ...message.metadata, runId: this.id } }
        : message,
    );
    await this.setup.memory.append(messages);
    this.show(messages);
    const { calls } = this.setup.status;
    for (const message of messages) {
      for (const { id } of toolUsesOf(message)) calls.set(id, {});
      for (const { toolUseId } of toolResultsOf(message)) calls.delete(toolUseId);
    }
  }

  /**
   * Takes nothing in any more; what came and was not answered is kept, and all of it is in the
   * store.
   */
  async close(reason: string): Promise<void> {
    this.closed = true;
    await this.append(this.injected.splice(0));
    const { memory, status } = this.setup;
    await memory.flush?.({ runId: this.id, reason, calls: status.calls });
  }

  /** Puts messages into the view that the log has already. */
  show(messages: readonly Msg[]): void {
    for (const message of messages) {
      this.view.push(message);
      for (const toolUse of toolUsesOf(message)) this.#toolUseIds.add(toolUse.id);
    }
  }

  /** The calls without a result. */
  openCalls(): ReturnType<typeof openCalls> {
    return openCalls(this.view);
  }

  /** Whether a tool call's id is new to the session; takes it if so. */
  claimToolUseId(id: string): boolean {
    if (!id || this.#toolUseIds.has(id)) return false;
    this.#toolUseIds.add(id);
    return true;
  }

  addUsage(usage: Usage | undefined): void {
    if (usage) this.usage = addUsage(this.usage, usage);
  }
}
