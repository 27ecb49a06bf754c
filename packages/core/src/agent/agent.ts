import type { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { array, optional } from '../error/options/kinds.ts';
import type { FieldTable } from '../error/options/option-table.ts';
import { decisionsMiddleware } from '../event/pending-call.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { checkHook } from '../event/check-hook.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import { checkInterrupt, type InterruptRequest } from '../event/interrupt-request.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { logMemoryOf, type ExtendedMemory } from '../memory/memory.ts';
import {
  checkNoOpenCalls,
  checkNewIds,
  parseInput,
  toMessages,
  type AgentInput,
  type ParsedInput,
} from '../event/agent-input.ts';
import { KeptConversation } from '../message/conversation/conversation.ts';
import type { Msg } from '../message/msg.ts';
import { inRequestOrder } from '../message/conversation/tool-pairs.ts';
import { onAbort } from '../wait/abort.ts';
import { markHandled } from '../wait/mark-handled.ts';
import { toolList, toolsIn, type ToolSet } from '../tool/set/tool-set.ts';
import type { ToolSource, ToolsOf } from '../tool/tool.ts';
import { CallLine } from './call-line.ts';
import {
  checkedUse,
  agentSettings,
  kernelTables,
  requireMiddleware,
  requireMiddlewareOf,
  type AgentTables,
} from './check-agent-options.ts';
import { AgentStream } from '../event/readers/agent-stream.ts';
import { keepDriver } from '../event/readers/attach.ts';
import { RunDriver } from '../event/readers/run-driver.ts';
import { eventLogShortener } from '../event/readers/event-log.ts';
import type { AgentSettings, KernelCallOptions, KernelOptions } from './kernel-options.ts';
import type { AgentHook, Middleware } from './middleware.ts';
import { runSetup, type RunSetup } from './run/run-setup.ts';
import { otherCallNames } from './other-names.ts';
import { systemMessages } from '../message/conversation/system-message.ts';
import { LiveRun } from './run/live-run.ts';
import { seam } from './seam/seam.ts';
import { flatList } from './use-list.ts';

/**
 * The kernel: an agent that reasons, acts and observes until it has an answer, without features.
 * One instance has one conversation. `ReActAgent` adds the usual features. TypeScript infers `S`,
 * the type of the tools.
 *
 * @example
 * const agent = new Agent({ name: 'assistant', model: openai({ model: 'gpt-5-mini', apiKey }) });
 * const { text } = await agent.call('Is it warmer in Paris or in Rome?');
 */
export class Agent<const S extends ToolSource = ToolSource> {
  /** The options that this class takes. */
  protected static readonly optionTables: AgentTables = kernelTables;
  /** Type marker, never set. */
  declare readonly '~types'?: () => { readonly tools: ToolsOf<S> };
  readonly name: string;
  readonly sessionId: string;
  readonly memory: ExtendedMemory;
  /**
   * The agent's own copy of the tools in its options. Use it to switch tool groups and, with a
   * `Toolkit`, to set preset arguments.
   */
  readonly tools: ToolSet;
  /** The agent's middleware in one flat list, without replaced middleware. */
  readonly use: readonly Middleware[];
  /** State that `saveState` and `loadState` use. */
  readonly status: AgentStatus;
  /** The options of the agent, completed with the defaults of its middleware. */
  protected readonly options: AgentSettings;
  /** The options as the constructor got them. */
  readonly #ownOptions: KernelOptions<S>;
  readonly #setup: RunSetup;
  readonly #tables: AgentTables;
  /** Hooks that were added later. */
  #added: readonly AgentHook[] = [];
  readonly #line: CallLine;

  /** Throws `CONFIGURATION` for an option of the wrong type. */
  constructor(options: KernelOptions<S>) {
    const tables = new.target.optionTables;
    checkFields(`The options of ${tables.className}`, options, agentFields);
    const { use = [], tools = [] } = options;
    this.use = checkedUse(use);
    this.options = agentSettings(options, this.use, tables);
    const { name, now, presetPriority, generateId } = this.options;
    const { memory = new InMemoryMemory() }: { readonly memory?: ExtendedMemory } = this.options;
    const { sessionId = memory.sessionId ?? generateId() } = this.options;
    const { state = {} } = memory;
    const log = logMemoryOf(memory);
    const status: AgentStatus = { calls: new Map(), state, runs: 0, interrupted: false };
    this.name = name;
    this.sessionId = sessionId;
    this.memory = memory;
    this.status = status;
    this.#line = new CallLine(this.options);
    this.#ownOptions = options;
    this.#tables = tables;
    const set = Symbol.iterator in tools ? toolList(tools) : tools;
    const shared = {
      sessionId,
      options: this.options,
      memory,
      log,
      ownTools: set.fork({ presetPriority }),
      status,
      systemMessages: systemMessages(now),
      keptConversation: memory.keptConversation ?? new KeptConversation(),
      unwritten: new Set<Promise<unknown>>(),
    };
    this.#setup = runSetup(shared, this.use);
    this.tools = this.#setup.tools;
    for (const tool of toolsIn(this.tools)) requireMiddlewareOf(tool, this.use);
  }

  /**
   * Runs the agent and resolves with the result. Rejects with an `AgentError`, such as `AGENT_BUSY`
   * while another call runs, or `INVALID_INPUT` for invalid input. With `throwOnError: false`, a
   * failure resolves with a result instead. Options of a wrong type always reject. After an
   * interrupt or abort, resolves with reason `interrupted` or `aborted`. Without input, continues
   * from the log, for example after a pause or with open tool calls. If nobody waits for the
   * result, a failure is not an unhandled rejection. The events `error` and `run-end` tell of it.
   */
  call<T = unknown>(input?: AgentInput, options: KernelCallOptions = {}): Promise<AgentResult<T>> {
    return markHandled(this.#call<T>(input, options));
  }

  async #call<T>(
    input: AgentInput | undefined,
    options: KernelCallOptions,
  ): Promise<AgentResult<T>> {
    const driver = this.#start<T>(input, options);
    driver.release();
    return driver.result;
  }

  /**
   * Runs the agent as `call` does, and returns its events. The run starts at the first read, or at
   * once with `detached: true`. Throws `INVALID_INPUT` for options of a wrong type. Also throws
   * `INVALID_INPUT` for invalid input, unless `throwOnError` is false.
   */
  stream<T = unknown>(input?: AgentInput, options: KernelCallOptions = {}): AgentStream<T> {
    return new AgentStream(this.#start<T>(input, options, true));
  }

  /**
   * Asks the running agent call to stop at its next interrupt point: before a model request,
   * between model deltas or after tools. Running tools finish. The answer is then `message` or the
   * agent's recovery message. Returns false if no call runs. Throws `INVALID_INPUT` for an invalid
   * request.
   */
  interrupt(request: string | Msg | InterruptRequest = {}): boolean {
    const { live } = this.#line;
    if (live) return live.interrupt(request);
    checkInterrupt(request, this.options);
    return false;
  }

  /**
   * Adds messages to the conversation without asking the model. Rejects with `INVALID_INPUT` for a
   * tool call without a result. Also rejects if two messages have the same id, or if the
   * conversation already has a message with this id. While the agent is busy, rejects with
   * `AGENT_BUSY`, or waits for its turn if `whenBusy` is not `reject`. If nobody waits for it, a
   * failure is not an unhandled rejection. Source: AgentScope, `observe`.
   */
  observe(messages: string | Msg | readonly Msg[]): Promise<void> {
    return markHandled(this.#observe(messages));
  }

  async #observe(messages: string | Msg | readonly Msg[]): Promise<void> {
    const newMessages = toMessages(messages, this.options);
    checkNoOpenCalls(newMessages);
    await this.#line.workInLine(async () => {
      checkNewIds(newMessages, await this.memory.read());
      await this.memory.append(newMessages);
      await this.memory.flush?.();
    });
  }

  /** Whether a call or `observe()` runs or waits for its turn. */
  get busy(): boolean {
    return this.#line.isBusy;
  }

  /**
   * Returns the conversation. Tool results directly follow their tool calls, in the order of the
   * tool calls. If the memory has a log, this call also loads the session's values.
   */
  async messages(): Promise<readonly Msg[]> {
    const messages = await this.memory.read();
    if (!this.memory.state && !this.busy) await this.#setup.log?.restore(this.status, this.tools);
    return inRequestOrder(messages);
  }

  /**
   * Adds a hook for all later events, including events of a running call. Returns a function that
   * removes the hook for all later events.
   */
  addHook(hook: AgentHook): () => void {
    checkHook(hook);
    this.#setAdded([...this.#added, hook]);
    return () => this.#setAdded(this.#added.filter((other) => other !== hook));
  }

  #setAdded(hooks: readonly AgentHook[]): void {
    this.#added = hooks;
    this.#line.live?.hooks.refresh();
  }

  /** Returns the options of an agent call as the kernel takes them. */
  protected kernelOptions(options: KernelCallOptions): KernelCallOptions {
    return options;
  }

  #start<T>(
    agentInput: AgentInput | undefined,
    callOptions: KernelCallOptions,
    isStreamed = false,
  ): RunDriver<T> {
    checkOptions('call()', callOptions, this.#tables.call, 'INVALID_INPUT', otherCallNames);
    const options = this.kernelOptions(callOptions);
    const setup = this.#setupFor(options);
    const hooks = (): readonly AgentHook[] => [...setup.use, ...this.#added].filter(({ on }) => on);
    const live = new LiveRun(setup, options, hooks, seam);
    const sent = this.#checkedInput(agentInput, live);
    const onStart = isStreamed ? (): void => keepDriver(this, driver) : undefined;
    const driver: RunDriver = new RunDriver({
      runId: live.info.runId,
      detached: options.detached,
      shortenLog: eventLogShortener(),
      run: () => this.#line.runInLine({ live, sent, driver, onStart }),
      abort: () => live.halt.abort(),
    });
    // The end of an aborted run does not wait for a reader.
    onAbort(live.halt.signal, () => queueMicrotask(() => driver.release()));
    if (isStreamed && options.detached) driver.start();
    return driver as RunDriver<T>;
  }

  /** Refuses the run if the input is invalid, or throws the error. */
  #checkedInput(agentInput: AgentInput | undefined, live: LiveRun): ParsedInput {
    try {
      const input = parseInput(agentInput, this.options);
      checkNoOpenCalls(input.messages);
      if (input.decisions.length)
        requireMiddleware(live.setup.use, decisionsMiddleware, 'A decision');
      return input;
    } catch (error) {
      if (live.callOptions.throwOnError !== false) throw error;
      live.halt.haltWith(error as AgentError);
      return { messages: [], decisions: [] };
    }
  }

  /** Returns the setup of one agent call. */
  #setupFor({ use }: KernelCallOptions): RunSetup {
    if (!use?.length) return this.#setup;
    const ofCall = checkedUse(use);
    // Middleware with the name of one of the agent takes its place. The others come first.
    const outer = flatList([this.use, ...ofCall]);
    const ofAgent = outer.splice(0, this.use.length);
    // The defaults of the call's middleware override those of the agent's.
    const options = agentSettings(this.#ownOptions, [...ofAgent, ...ofCall], this.#tables);
    return runSetup({ ...this.#setup, options }, [...outer, ...ofAgent]);
  }
}

/** The field that the constructor reads before it checks all options. */
const agentFields: FieldTable<KernelOptions> = { use: optional(array) };
