import { Run } from './run/run.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { decisionsRequire } from '../event/pending-call.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import { checkInterrupt, type InterruptRequest } from '../event/interrupt-request.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { Memory } from '../memory/memory.ts';
import { checkRounds } from '../event/check-rounds.ts';
import type { Msg } from '../message/msg.ts';
import { inRequestOrder } from '../message/tool-pairs.ts';
import { abortables } from '../wait/abortable.ts';
import { ToolList } from '../tool/set/tool-list.ts';
import { toolsIn, type ToolSet } from '../tool/set/tool-set.ts';
import type { GivenTools, ToolsOf } from '../tool/typed-tool.ts';
import { runAgentCall } from './run/agent-call.ts';
import {
  checkNew,
  toCallInput,
  toMessages,
  type AgentInput,
  type CallInput,
} from '../event/call-input.ts';
import {
  checkCall,
  checkHook,
  checkUse,
  completedOptions,
  kernelFields,
  requirePart,
  requireParts,
  type OptionFields,
} from './check-options.ts';
import { AgentStream } from '../event/readers/agent-stream.ts';
import { keepDriver } from '../event/readers/attach.ts';
import { RunDriver } from '../event/readers/run-driver.ts';
import { logLimit } from '../event/readers/run-log.ts';
import type { AgentSettings, KernelCallOptions, KernelOptions } from './kernel-options.ts';
import type { AgentHook, Middleware } from './middleware.ts';
import { offerCall } from './run/inbox.ts';
import { runSetup, type RunSetup } from './run/run-setup.ts';
import { admitInput } from './step/settle.ts';
import { systemMessages } from '../message/system-message.ts';
import { partsOf, withCallParts } from './use-list.ts';

/** An agent call that runs or waits for its turn. */
interface BegunCall {
  readonly run: Run;
  readonly input: CallInput;
  readonly driver: RunDriver;
  /** Whether the caller reads the events. */
  readonly streamed: boolean;
}

/**
 * The kernel: an agent that reasons, acts and observes until it has an answer, without features. One
 * instance has one conversation. `ReActAgent` adds the usual features. TypeScript infers `G`, the
 * type of the tools.
 *
 * @example
 * const agent = new Agent({ name: 'assistant', model: openai({ model: 'gpt-5-mini', apiKey }) });
 * const { text } = await agent.call('Is it warmer in Paris or in Rome?');
 */
export class Agent<const G extends GivenTools = GivenTools> {
  /** The options that this class takes. */
  protected static readonly optionFields: OptionFields = kernelFields;
  /** Type marker, never set. */
  declare readonly of?: () => { readonly tools: ToolsOf<G> };
  readonly name: string;
  readonly sessionId: string;
  readonly memory: Memory;
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
  readonly #given: KernelOptions<G>;
  readonly #setup: RunSetup;
  readonly #fields: OptionFields;
  /** Hooks that were added later. */
  #added: readonly AgentHook[] = [];
  #running: BegunCall | undefined;
  /** Results of the calls that run or wait for their turn. */
  readonly #line: Set<Promise<AgentResult>> = new Set();

  /** Throws `CONFIGURATION` for an option of the wrong type. */
  constructor(given: KernelOptions<G>) {
    const fields = new.target.optionFields;
    checkFields(`The options of ${fields.of}`, given, 'use:array|?');
    const { use = [], tools = [] } = given;
    checkUse(use);
    this.use = partsOf(use);
    this.options = completedOptions(given, this.use, fields);
    const { name, sessionId, memory, now, presetPriority, generateId } = this.options;
    this.name = name;
    this.sessionId = sessionId ?? generateId();
    this.memory = memory ?? new InMemoryMemory();
    const { state = {} } = this.memory;
    this.status = { calls: new Map(), state, runs: 0, interrupted: false };
    this.#given = given;
    this.#fields = fields;
    const set = Symbol.iterator in tools ? new ToolList(tools) : tools;
    const parts = {
      sessionId: this.sessionId,
      options: this.options,
      memory: this.memory,
      ownTools: set.fork({ presetPriority }),
      status: this.status,
      toSystemMessage: systemMessages(now),
      unwritten: new Set<Promise<unknown>>(),
    };
    this.#setup = runSetup(parts, this.use);
    this.tools = this.#setup.tools;
    for (const tool of toolsIn(this.tools)) requireParts(this.use, tool);
  }

  /**
   * Runs the agent and resolves with the result. Rejects with an `AgentError`, such as `AGENT_BUSY`
   * while another call runs, or `INVALID_INPUT` for invalid input. With `throwOnError: false`, a
   * failure resolves with a result instead. Options of a wrong type always reject. After an
   * interrupt or abort, resolves with reason `interrupted` or `aborted`. Without input, continues
   * from the log, for example after a pause or with open tool calls.
   */
  async call<T = unknown>(
    input?: AgentInput,
    options: KernelCallOptions = {},
  ): Promise<AgentResult<T>> {
    return this.#start<T>(input, options).runToEnd();
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
    if (this.#running) return this.#running.run.interrupt(request);
    checkInterrupt(request, this.options);
    return false;
  }

  /**
   * Adds messages to the conversation without asking the model (AgentScope: `observe`). Rejects
   * with `INVALID_INPUT` for a tool call without a result. Also rejects if two messages have the
   * same id, or if the conversation already has a message with this id. While an agent call runs,
   * rejects with `AGENT_BUSY`, or waits for its end if `whenBusy` is not `reject`.
   */
  async observe(messages: string | Msg | readonly Msg[]): Promise<void> {
    const given = toMessages(messages, this.options);
    checkRounds(given);
    if (this.#isRefusing) throw busy(this.name);
    await Promise.allSettled(this.#line);
    checkNew(given, await this.memory.read());
    await this.memory.append(given);
    await this.memory.flush?.();
  }

  /** Whether a call runs or waits for its turn. */
  get busy(): boolean {
    return this.#line.size > 0;
  }

  /** Whether a new call is refused because another one runs. */
  get #isRefusing(): boolean {
    return this.busy && this.options.whenBusy === 'reject';
  }

  /**
   * Returns the conversation. Tool results directly follow their tool calls, in the order of the
   * tool calls. If the memory has a log, this call also loads the session's values.
   */
  async messages(): Promise<readonly Msg[]> {
    const messages = await this.memory.read();
    if (!this.memory.state && !this.busy) await this.memory.restore?.(this.status, this.tools);
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
    const run = this.#running?.run;
    run?.hooks.setHooks(this.#hooksOf(run.setup));
  }

  #hooksOf({ use }: RunSetup): readonly AgentHook[] {
    return [...use, ...this.#added].filter((hook) => hook.on ?? hook.onEvent);
  }

  /** Returns the options of an agent call as the kernel takes them. */
  protected kernelOptions(options: KernelCallOptions): KernelCallOptions {
    return options;
  }

  #start<T>(
    given: AgentInput | undefined,
    givenOptions: KernelCallOptions,
    streamed = false,
  ): RunDriver<T> {
    checkCall(givenOptions, this.#fields);
    const options = this.kernelOptions(givenOptions);
    const setup = this.#setupFor(options);
    const run = new Run(setup, options, this.#hooksOf(setup), (events) => driver.push(events));
    let input: CallInput = { messages: [], decisions: [] };
    try {
      input = toCallInput(given, this.options);
      checkRounds(input.messages);
      if (input.decisions.length) requirePart(setup.use, decisionsRequire, 'A decision');
    } catch (error) {
      if (options.throwOnError !== false) throw error;
      run.refuse(error as AgentError);
    }
    const { detached } = options;
    const driver: RunDriver = new RunDriver({
      runId: run.runId,
      detached,
      limit: logLimit(),
      run: () => this.#inTurn({ run, input, driver, streamed }),
      abort: () => run.abort(),
    });
    // The end of an aborted run does not wait for a reader.
    run.signal.addEventListener('abort', () => queueMicrotask(() => driver.release()));
    if (streamed && detached) driver.start();
    return driver as RunDriver<T>;
  }

  /** Returns the setup of one agent call. */
  #setupFor({ use }: KernelCallOptions): RunSetup {
    if (!use?.length) return this.#setup;
    checkUse(use);
    const parts = withCallParts(this.use, use);
    const added = parts.filter((part) => !this.use.includes(part));
    const kept = parts.filter((part) => this.use.includes(part));
    // The defaults of the call's middleware override those of the agent's.
    const options = completedOptions(this.#given, [...kept, ...added], this.#fields);
    return runSetup({ ...this.#setup, options }, parts);
  }

  /** Runs the loop when it is the turn of this agent call. */
  async #inTurn(begun: BegunCall): Promise<AgentResult> {
    const { run, input, driver, streamed } = begun;
    run.begin();
    try {
      if (this.#isRefusing) run.refuse(busy(this.name));
      const { failure } = run;
      if (failure && run.callOptions.throwOnError !== false) throw failure;
      if (failure) return await runAgentCall(run);
      const earlier = [...this.#line];
      this.#line.add(driver.result);
      try {
        const joined = earlier.length && (await this.#waitForTurn(begun, earlier));
        if (joined) return joined;
      } catch (error) {
        return await runAgentCall(run, undefined, AgentError.from(error));
      }
      if (streamed) keepDriver(this, driver);
      this.#running = begun;
      run.hooks.setHooks(this.#hooksOf(run.setup));
      this.status.runs += 1;
      const result = await runAgentCall(run, input);
      keepEnd(this.status, run, result);
      return result;
    } finally {
      run.end();
      this.#line.delete(driver.result);
      if (this.#running === begun) this.#running = undefined;
    }
  }

  /**
   * Waits for the end of earlier agent calls. Resolves with a result if the running one takes the
   * input of this one. Rejects if this one is refused or aborted.
   */
  async #waitForTurn(
    { run, input }: BegunCall,
    earlier: readonly Promise<AgentResult>[],
  ): Promise<AgentResult | undefined> {
    const { signal, callOptions: options } = run;
    const turn = Promise.allSettled(earlier);
    const running = this.#running;
    if (running) {
      const { result } = running.driver;
      const admit = (): Promise<CallInput> => (run.admitted = admitInput(run, input));
      const call = { input, options, signal, result, admit };
      const joined = await offerCall(running.run, call, turn);
      if (joined) return joined;
    }
    await abortables(signal)(turn);
    return undefined;
  }
}

function busy(name: string): AgentError {
  const message = `The agent "${name}" is busy. Await its call, or set whenBusy.`;
  return new AgentError('AGENT_BUSY', message);
}

/** Keeps how a run ended, for the next agent call. */
function keepEnd(status: AgentStatus, run: Run, { reason }: AgentResult): void {
  const isStopped = reason === 'interrupted' || reason === 'aborted';
  const isOpen = reason === 'suspended' || reason === 'error';
  status.interrupted = reason === 'interrupted';
  // A call that was refused or aborted before it began has not read the log.
  if (!run.messages[0]) return;
  if (!isOpen && !run.conversation.openCalls().length) status.suspendedRun = undefined;
  status.stoppedRun = isStopped ? run.runId : undefined;
}
