import {
  type KeyValueStore,
  SessionMemory,
  type SessionMemoryOptions,
  toolResultsOf,
  type Msg,
  type ChatModel,
  type ModelDelta,
  type ModelRequest,
  type SchemaLike,
  tool,
  type Tool,
  type ToolOptions,
} from '@isoloop/core';
import type { WriteOptions } from '../../packages/core/src/memory/memory.ts';
import { requestFaults } from '../support/history-faults.ts';
import {
  ScriptedModel,
  type ScriptedReply,
  type ScriptedModelOptions,
} from '@isoloop/core/testing';

/**
 * Observations of the processes of one conversation, made outside these processes.
 * `structuredClone` can copy it.
 */
export interface Witness {
  /** Ids of the acknowledged messages by session, without deleted messages. */
  readonly kept: Map<string, Set<string>>;
  /** Ids of the tool calls whose result the memory acknowledged. */
  readonly finished: Set<string>;
  /** Number of runs of each tool call, by its idempotency key. */
  readonly runs: Map<string, number>;
  /** Descriptions of the observed faults. */
  readonly faults: string[];
}

/** Creates the witness of a conversation that has not begun. */
export function makeWitness(): Witness {
  return { kept: new Map(), finished: new Set(), runs: new Map(), faults: [] };
}

/** Which process of a conversation this is, and when it dies. */
export interface Life {
  /** Number of the process in its conversation, from 0. */
  readonly generation: number;
  /** Index of the point at which the process dies. Default: the process does not die. */
  readonly dieAt?: number;
}

/**
 * Simulated process that hosts an agent and dies at a given point. A dead process does nothing
 * more: every operation that it awaits stays pending.
 *
 * These are the points: each store operation, each model request, each delta of a model, and each
 * start and end of a tool. A write to the store has two points: before anything is written, and
 * after everything is written but before the caller knows.
 */
export class MortalProcess {
  readonly generation: number;
  readonly witness: Witness;
  /** Store with the points of this process around each operation. */
  readonly store: KeyValueStore;
  /** Names of the points that the process has reached. */
  readonly points: string[] = [];
  /** Resolves when the process dies. */
  readonly death: Promise<'dead'>;
  readonly #dieAt: number;
  readonly #controller = new AbortController();
  #onDeath!: (dead: 'dead') => void;
  #dead = false;

  constructor(store: KeyValueStore, witness: Witness, { generation, dieAt = Infinity }: Life) {
    this.store = this.#reached(store);
    this.witness = witness;
    this.generation = generation;
    this.#dieAt = dieAt;
    this.death = new Promise((resolve) => (this.#onDeath = resolve));
  }

  /** Signal for each agent call. It aborts at the end of the process, so that no timers remain. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Marks a point of the process. Never resolves if the process is dead or dies at this point. */
  async point(name: string): Promise<void> {
    if (!this.#dead && this.points.push(name) > this.#dieAt) {
      this.#dead = true;
      this.#onDeath('dead');
    }
    if (this.#dead) await new Promise<never>(() => {});
  }

  /** Ends the process, dead or alive, and aborts `signal`. */
  bury(): void {
    this.#dead = true;
    this.#controller.abort();
  }

  /** Opens the memory of a session. The witness records the acknowledged messages. */
  memory(sessionId: string, options?: SessionMemoryOptions): SessionMemory {
    return new WitnessedMemory(this.store, sessionId, this.witness, options);
  }

  /**
   * Creates a model whose reply depends only on the request, so that a repeated request gets the
   * same reply.
   */
  model(
    reply: (request: ModelRequest) => ScriptedReply,
    options?: ScriptedModelOptions,
  ): ChatModel {
    const stream = async function* (
      this: MortalProcess,
      ...[request, context]: Parameters<ChatModel['stream']>
    ): AsyncGenerator<readonly ModelDelta[]> {
      await this.point('request');
      this.witness.faults.push(...requestFaults(request.messages));
      for await (const deltas of new ScriptedModel([reply(request)], options).stream(
        request,
        context,
      )) {
        yield deltas;
        await this.point('delta');
      }
    };
    const { provider, modelId, features } = new ScriptedModel([], options);
    return { provider, modelId, features, stream: stream.bind(this) };
  }

  /** Creates a tool. The witness records each execution of the tool. */
  tool<const S extends SchemaLike>(options: ToolOptions<S>): Tool {
    const { execute, replay } = options;
    if (!execute) return tool(options);
    const witnessed: typeof execute = async (input, context) => {
      const { idempotencyKey: key, toolUseId } = context;
      await this.point(`${options.name} starts`);
      const { runs, finished, faults } = this.witness;
      const times = (runs.get(key) ?? 0) + 1;
      runs.set(key, times);
      if (times > 1 && replay !== 'safe')
        faults.push(`${options.name} ran ${times} times as ${key}`);
      if (finished.has(toolUseId))
        faults.push(`${options.name} ran again after its result was kept, as ${key}`);
      const output = await execute(input, context);
      await this.point(`${options.name} ends`);
      return output;
    };
    return tool({ ...options, execute: witnessed });
  }

  #reached(store: KeyValueStore): KeyValueStore {
    const read = async <T>(name: string, operation: () => Promise<T>): Promise<T> => {
      await this.point(name);
      return operation();
    };
    const write = async <T>(name: string, operation: () => Promise<T>): Promise<T> => {
      await this.point(`${name}, not written`);
      const done = await operation();
      await this.point(`${name}, written`);
      return done;
    };
    const set = (key: string, value: string): Promise<void> =>
      write(`set ${nameOf(key)}`, () => store.set(key, value));
    const { compareAndSet } = store;
    return {
      features: store.features,
      get: (key) => read(`get ${nameOf(key)}`, () => store.get(key)),
      getMany: (keys) => read('getMany', () => store.getMany(keys)),
      keys: (prefix) => read('keys', () => store.keys(prefix)),
      set,
      setMany: async (entries) => {
        if (store.features.atomic)
          return write(`setMany ${entries.map(([key]) => nameOf(key)).join()}`, () =>
            store.setMany(entries),
          );
        for (const [key, value] of entries) await set(key, value);
      },
      delete: (keys) => write('delete', () => store.delete(keys)),
      ...(compareAndSet && {
        compareAndSet: (key: string, expected: string | undefined, value: string) =>
          write(`compareAndSet ${nameOf(key)}`, () =>
            compareAndSet.call(store, key, expected, value),
          ),
      }),
    };
  }
}

class WitnessedMemory extends SessionMemory {
  readonly #witness: Witness;
  readonly #kept: Set<string>;
  readonly #isTurnwise: boolean;

  constructor(
    store: KeyValueStore,
    sessionId: string,
    witness: Witness,
    options: SessionMemoryOptions = {},
  ) {
    super(store, sessionId, options);
    this.#witness = witness;
    this.#kept = witness.kept.get(sessionId) ?? new Set();
    witness.kept.set(sessionId, this.#kept);
    this.#isTurnwise = options.durability === 'turn';
  }

  override async append(messages: readonly Msg[], options: WriteOptions = {}): Promise<void> {
    await super.append(messages, options);
    this.#keep(messages, options);
  }

  #keep(messages: readonly Msg[], { later = false }: WriteOptions): void {
    if (this.#isTurnwise || later) return;
    for (const { id } of messages) this.#kept.add(id);
    for (const { toolUseId } of messages.flatMap(toolResultsOf))
      this.#witness.finished.add(toolUseId);
  }

  override async rewrite(
    gone: readonly string[],
    messages: readonly Msg[],
    options: WriteOptions = {},
  ): Promise<void> {
    for (const id of gone) this.#kept.delete(id);
    await super.rewrite(gone, messages, options);
    this.#keep(messages, options);
  }
}

/** Returns the third part of a key, which names the kind of content. */
function nameOf(key: string): string {
  return key.split(':').slice(2, 3).join();
}
