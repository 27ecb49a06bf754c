import { AgentError } from '../error/agent-error.ts';
import type { EventBatch } from '../hook/agent-event.ts';
import { HookDispatcher } from '../hook/hook-dispatcher.ts';
import type { Hook } from '../hook/hook.ts';
import { createMessage, systemMessage } from '../message/create-message.ts';
import type { Msg } from '../message/msg.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { Memory } from '../memory/memory.ts';
import { Toolkit } from '../tool/toolkit.ts';
import type { AgentOptions, CallOptions } from './agent-options.ts';
import type { AgentResult } from './agent-result.ts';
import { AgentStream } from './agent-stream.ts';
import { loop } from './loop.ts';
import { Run, type RunSetup } from './run.ts';

/** What a call may be given: text, one message, several, or nothing: go on from the log. */
export type AgentInput = string | Msg | readonly Msg[];

/** An agent that reasons, acts and observes until it has an answer. One instance holds one conversation. */
export class ReActAgent {
  readonly name: string;
  readonly sessionId: string;
  readonly memory: Memory;
  readonly #setup: Omit<RunSetup, 'generate' | 'signal' | 'throwOnError'>;
  #hooks: readonly Hook[];
  #running: Run | undefined;

  constructor(options: AgentOptions) {
    const { name, systemPrompt, tools = [], hooks = [], generateId = () => crypto.randomUUID(), now = Date.now } = options;
    this.name = name;
    this.sessionId = options.sessionId ?? generateId();
    this.memory = options.memory ?? new InMemoryMemory();
    this.#setup = {
      options,
      sessionId: this.sessionId,
      memory: this.memory,
      toolkit: tools instanceof Toolkit ? tools.fork() : new Toolkit(tools),
      systemMessage: systemPrompt?.trim() ? systemMessage(systemPrompt, { id: 'system', now }) : undefined,
      generateId,
      now,
    };
    this.#hooks = hooks;
  }

  /**
   * Runs to the end. Rejects with an `AgentError`; `AGENT_BUSY` while another call runs. An interrupt and an abort resolve, with
   * their reason.
   */
  async call(input?: AgentInput, options: CallOptions = {}): Promise<AgentResult> {
    const events = this.#start(input, options).events;
    for (;;) {
      const read = await events.next();
      if (read.done) return read.value;
    }
  }

  /** The same call as events. It starts at the first read, or at once with `detached: true`. */
  stream(input?: AgentInput, options: CallOptions = {}): AgentStream {
    const { run, events } = this.#start(input, options);
    return new AgentStream({ runId: run.id, events, abort: () => run.abort(), detached: options.detached ?? false });
  }

  /**
   * Asks the running call to stop at its next interrupt point (before reasoning, between model deltas, after tools) and to answer
   * with a recovery message, or with `message`. Tools run to their end. Does nothing when no call runs.
   */
  interrupt(message?: string | Msg): void {
    this.#running?.interrupt(message);
  }

  /** Adds messages to the conversation without asking the model (AgentScope: `observe`). */
  async observe(messages: AgentInput): Promise<void> {
    await this.memory.append(this.#toMessages(messages));
    await this.memory.flush?.();
  }

  messages(): Promise<readonly Msg[]> {
    return this.memory.read();
  }

  /** From the next call on; gives back what takes the hook off again. */
  addHook(hook: Hook): () => void {
    this.#hooks = [...this.#hooks, hook];
    return () => {
      this.#hooks = this.#hooks.filter((other) => other !== hook);
    };
  }

  #start(
    input: AgentInput | undefined,
    options: CallOptions,
  ): { readonly run: Run; readonly events: AsyncGenerator<EventBatch, AgentResult> } {
    const { signal, detached: _detached, throwOnError = true, ...generate } = options;
    const setup = { ...this.#setup, signal, throwOnError, generate: { ...this.#setup.options.generate, ...generate } };
    const run = new Run(setup, new HookDispatcher(this.#hooks));
    return { run, events: this.#guarded(run, this.#toMessages(input)) };
  }

  async *#guarded(run: Run, input: readonly Msg[]): AsyncGenerator<EventBatch, AgentResult> {
    if (this.#running) throw new AgentError('AGENT_BUSY', `The agent "${this.name}" is busy.`);
    this.#running = run;
    try {
      return yield* loop(run, input);
    } finally {
      run.end();
      this.#running = undefined;
    }
  }

  #toMessages(input: AgentInput | undefined): readonly Msg[] {
    if (input === undefined) return [];
    if (typeof input !== 'string') return 'role' in input ? [input] : input;
    if (!input.trim()) throw new AgentError('INVALID_INPUT', 'The input is an empty text.');
    return [createMessage('user', input, this.#setup)];
  }
}
