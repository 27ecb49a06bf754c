import { AgentError } from '../error/agent-error.ts';
import { createMessage } from '../message/create-message.ts';
import type { Msg } from '../message/msg.ts';
import { inRequestOrder } from '../message/tool-pairs.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { Memory } from '../memory/memory.ts';
import { runCall } from '../tool/run-call.ts';
import { ToolList } from '../tool/set/tool-list.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import type { GivenTools, ToolsOf } from '../tool/typed-tool.ts';
import { abortables } from '../model/abortable.ts';
import { boundedModel } from '../model/bounded-model.ts';
import type { ChatModel } from '../model/chat-model.ts';
import type { AgentOptions, CallOptions } from './agent-options.ts';
import { checkAgent, checkCall, checkHook, checkUse } from './check-options.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { AgentStream } from './agent-stream.ts';
import { keepDriver } from './last-driver.ts';
import {
  checkNew,
  toCallInput,
  type AgentInput,
  type CallInput,
} from '../loop/input/call-input.ts';
import { checkRounds } from '../loop/input/check-rounds.ts';
import type { ContextPolicy } from '../loop/context-policy.ts';
import { interruptRun, toMessages } from '../loop/run/interrupt-run.ts';
import type { AgentHook, Middleware } from '../loop/use/middleware.ts';
import { boundedSteps, boundedTool, wrapped } from '../loop/use/wrapped.ts';
import { Outbox } from '../loop/run/outbox.ts';
import { runOf } from '../loop/run/run-view.ts';
import { defaultsOf, partsOf, withDefaults } from '../loop/use/use-list.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import { directAnswer } from '../loop/direct-answer.ts';
import { summarize } from '../loop/limit.ts';
import { injectCall } from '../loop/input/inject-call.ts';
import { loop } from '../loop/loop.ts';
import { perform } from '../loop/perform.ts';
import { boundedCall } from '../loop/run/bounded-call.ts';
import type { RunSetup } from '../loop/run/run-setup.ts';
import { Run } from '../loop/run/run.ts';
import { logLimit } from '../loop/driver/log-limit.ts';
import { RunDriver } from '../loop/driver/run-driver.ts';

/**
 * An agent that reasons, acts and observes until it has an answer. One instance has one
 * conversation. TypeScript infers `G`, the type of the tools.
 *
 * @example
 * const agent = new ReActAgent({
 *   name: 'assistant',
 *   systemPrompt: 'Answer in one sentence.',
 *   model: openai({ model: 'gpt-5-mini', apiKey }),
 *   tools: [weather],
 * });
 * const { text } = await agent.call('Is it warmer in Paris or in Rome?');
 */
export class ReActAgent<const G extends GivenTools = GivenTools> {
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
  readonly #setup: RunSetup;
  #hooks: readonly AgentHook[];
  #running: Run | undefined;
  #result: (() => Promise<AgentResult>) | undefined;
  /** Settles when all agent calls so far have ended. */
  #tail: Promise<unknown> | undefined;
  /** Number of calls that run or wait for their turn. */
  #inLine = 0;

  /** Throws `CONFIGURATION` for an option of the wrong type. */
  constructor(given: AgentOptions<G>) {
    checkUse(given);
    const use = partsOf(given.use ?? []);
    const options = withDefaults(given, defaultsOf(use));
    checkAgent(options);
    const { name, tools = [], presetPriority = 'preset' } = options;
    const { generateId = () => crypto.randomUUID(), now = Date.now } = options;
    const set = Symbol.iterator in tools ? new ToolList(tools) : tools;
    const own = set.fork({ presetPriority });
    const bounds = { now, ...options.limits };
    const bounded = (model: ChatModel): ChatModel => boundedModel(model, bounds);
    const toSystemMessage = systemMessages(now);
    const more = use.flatMap((part) => part.tools ?? []);
    this.name = name;
    this.sessionId = options.sessionId ?? generateId();
    this.memory = options.memory ?? new InMemoryMemory();
    const { state = {} } = this.memory;
    this.status = { calls: new Map(), state, runs: 0, interrupted: false };
    this.use = use;
    this.tools = more.length ? new ToolList(more, own) : own;
    this.#setup = {
      options,
      sessionId: this.sessionId,
      memory: this.memory,
      tools: this.tools,
      use,
      policies: use.filter(isPolicy),
      model: wrapped(use, 'wrapModel', bounded(options.model), bounded),
      directAnswer: wrapped(use, 'wrapAnswer', directAnswer, boundedSteps),
      onLimit: wrapped(use, 'wrapLimit', options.onLimit ?? summarize(), boundedSteps),
      runTool: wrapped(use, 'wrapTool', runCall, boundedTool),
      call: wrapped(use, 'wrapRun', (input, context) => loop(runOf(context), input), boundedCall),
      systemMessage: toSystemMessage(options.systemPrompt ?? ''),
      toSystemMessage,
      generateId,
      now,
      status: this.status,
      unwritten: new Set(),
    };
    this.#hooks = use;
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
    options: CallOptions<T> = {},
  ): Promise<AgentResult<T>> {
    const driver = this.#start(input, options);
    while (await driver.pull());
    return driver.result;
  }

  /**
   * Runs the agent as `call` does, and returns its events. The run starts at the first read, or at
   * once with `detached: true`. Throws `INVALID_INPUT` for options of a wrong type. Also throws
   * `INVALID_INPUT` for invalid input, unless `throwOnError` is false.
   */
  stream<T = unknown>(input?: AgentInput, options: CallOptions<T> = {}): AgentStream<T> {
    const { busy } = this;
    const driver = this.#start(input, options, true);
    if (!busy) keepDriver(this, driver as RunDriver);
    return new AgentStream(driver);
  }

  /**
   * Asks the running agent call to stop at its next interrupt point: before a model request,
   * between model deltas or after tools. Running tools finish. The answer is then `message` or the
   * agent's recovery message. A request may also ask for a pause, or add messages. Returns false if
   * no call runs. With `pauseWhenIdle`, a pause without a running call applies to the next call and
   * returns true. Throws `INVALID_INPUT` for an invalid request.
   */
  interrupt(request: string | Msg | InterruptRequest = {}): boolean {
    if (interruptRun(this.#running, request, this.#setup)) return true;
    const { mode } = request as InterruptRequest;
    this.status.pauseNext ||= mode === 'pause' && this.#setup.options.pauseWhenIdle === true;
    return mode === 'pause' && this.status.pauseNext;
  }

  /**
   * Adds messages to the conversation without asking the model (AgentScope: `observe`). Rejects
   * with `INVALID_INPUT` for a tool call without a result. Also rejects if two messages have the
   * same id, or if the conversation already has a message with this id.
   */
  async observe(messages: string | Msg | readonly Msg[]): Promise<void> {
    const given = toMessages(messages, this.#setup);
    checkRounds(given, 'To keep its text, pass assistantMessage(text, { name }).');
    checkNew(given, await this.memory.read());
    await this.memory.append(given);
    await this.memory.flush?.();
  }

  /** Whether a call runs or waits for its turn. */
  get busy(): boolean {
    return this.#tail !== undefined;
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
    this.#setHooks([...this.#hooks, hook]);
    return () => this.#setHooks(this.#hooks.filter((other) => other !== hook));
  }

  #setHooks(hooks: readonly AgentHook[]): void {
    this.#hooks = hooks;
    this.#running?.hooks.setHooks(hooks);
  }

  #start<T>(
    input: AgentInput | undefined,
    options: CallOptions<T>,
    streamed = false,
  ): RunDriver<T> {
    checkCall(options);
    const events = new Outbox(() => this.#inTurn(run, given!, () => driver, streamed));
    const run = new Run(this.#setup, options, { hooks: this.#hooks, outbox: events });
    let given: CallInput | undefined;
    try {
      given = toCallInput(input, this.#setup);
      checkRounds(given.messages);
    } catch (error) {
      if (options.throwOnError !== false) throw error;
      run.failure = error as AgentError;
    }
    const driver: RunDriver = new RunDriver({
      runId: run.id,
      events,
      detached: streamed && options.detached,
      limit: logLimit(),
      abort: () => run.abort(),
    });
    return driver as RunDriver<T>;
  }

  /** Runs the loop when it is the turn of this agent call. */
  async #inTurn(
    run: Run,
    input: CallInput,
    driver: () => RunDriver,
    streamed: boolean,
  ): Promise<AgentResult> {
    const { options } = this.#setup;
    const { whenBusy = 'reject' } = options;
    let turn = this.#tail;
    const result = (): Promise<AgentResult> => driver().result;
    let tail: typeof turn;
    // The end of an aborted run does not wait for a reader.
    run.signal.addEventListener('abort', () => queueMicrotask(() => driver().release()));
    run.begin();
    try {
      if (turn && whenBusy === 'reject')
        run.failure ??= new AgentError(
          'AGENT_BUSY',
          `The agent "${this.name}" is busy. Await its call, or set whenBusy.`,
        );
      if (run.failure) {
        if (run.options.throwOnError !== false) throw run.failure;
        return await perform(run, undefined);
      }
      const running = this.#running;
      const { claims, decisions, instructions } = run.options;
      const more = [input.decisions, claims, decisions, instructions];
      const mayJoin = whenBusy === 'inject' && !more.some((list) => list?.length);
      if (turn && mayJoin && running?.closed === false) {
        const taking = { run: running, result: this.#result!() };
        const ended = await injectCall(taking, run, input.messages);
        if (ended) return ended;
        turn = this.#tail;
      }
      this.#tail = tail = Promise.resolve(turn).then(result, result);
      tail.catch(() => {});
      this.#inLine += 1;
      if (turn) await abortables(run.signal)(turn).catch(() => {});
      if (turn && run.signal.aborted) return await perform(run, undefined);
      if (turn && streamed) keepDriver(this, driver());
      this.#running = run;
      run.hooks.setHooks(this.#hooks);
      this.status.runs += 1;
      this.#result = result;
      const ended = await perform(run, input);
      this.status.interrupted = ended.reason === 'interrupted';
      // If a guard refused the call, or the call was aborted before it began, it has not read the
      // log and `suspendedRun` stays.
      if (run.view[0] && !/suspended|error/.test(ended.reason) && !run.openCalls().length)
        this.status.suspendedRun = undefined;
      const isStopped = /interrupted|aborted/.test(ended.reason);
      if (run.view[0]) this.status.stoppedRun = isStopped ? run.id : undefined;
      return ended;
    } finally {
      run.end();
      if (this.#running === run) this.#running = undefined;
      if (tail) this.#inLine -= 1;
      if (tail && this.#inLine === 0) this.#tail = undefined;
    }
  }
}

function isPolicy(part: Middleware): part is Middleware & ContextPolicy {
  return part.fit !== undefined;
}

/**
 * Returns a function that converts a text to a system message. Reuses the message for an equal
 * text, because token counts are cached per message object.
 */
function systemMessages(now: () => number): RunSetup['toSystemMessage'] {
  let last: { readonly text: string; readonly message: Msg } | undefined;
  return (text) => {
    if (!text.trim()) return undefined;
    if (last?.text !== text)
      last = { text, message: createMessage('system', text, { id: 'system', now }) };
    return last.message;
  };
}
