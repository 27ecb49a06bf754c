import { SessionMemory, type KeyValueStore } from '@isoloop/core';
import type { QueuedMessage } from '@isoloop/core/host';
import type { UIMessage } from '@isoloop/core/stream';
import type { HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import { InProcessQueue } from './in-process-queue.ts';
import { forgetSession, type CommandHandler } from '../session/command-handler.ts';
import { unknownSessionError, type Command } from '../session/commands.ts';
import { checkFirstSessionTurn } from '../session/begin-session-turn.ts';
import { TurnRunner } from '../session/turn-runner.ts';

export interface ProcessHostOptions {
  /** Settings for turns that begin now. They change if a newer handler shares the sessions. */
  readonly settings: () => HandlerSettings;
  readonly store: KeyValueStore;
  /** Id of the session in the store. */
  readonly key: string;
  readonly setup: SessionSetup;
}

/**
 * Session in the memory of a process, with its log in a store. Its turns run one after the other,
 * with or without clients. If the process dies, the log keeps what a turn has stored, and the store
 * keeps the turns that wait. The next request continues them.
 */
export class ProcessHost implements CommandHandler {
  readonly #options: ProcessHostOptions;
  readonly #memory: SessionMemory;
  readonly #queue: InProcessQueue;
  readonly #turns: TurnRunner;
  /** Settles when the turns are here that an earlier process has left. */
  #whenLoaded: Promise<void> | undefined;
  #isDeleted = false;

  constructor(options: ProcessHostOptions) {
    const { settings, store, key, setup } = options;
    this.#options = options;
    this.#memory = new SessionMemory(store, key);
    this.#queue = new InProcessQueue(store, key);
    this.#turns = new TurnRunner({
      settings,
      setup,
      queue: this.#queue,
      keepsInput: false,
      memory: this.#memory,
      onChange: () => {},
      onEmpty: () => this.#turns.unloadWhenIdle(),
    });
  }

  /** Whether a turn is running, or a client waits for one. */
  get isBusy(): boolean {
    return this.#turns.isBusy || this.#turns.isAwaited;
  }

  /** Runs a turn. Resolves with `undefined` if the session was deleted meanwhile. */
  async turn(command: Command<'turn'>): Promise<Response | undefined> {
    await this.#load();
    const isNew = (await this.#memory.read()).length === 0;
    if (this.#isDeleted) return undefined;
    if (isNew && !this.#turns.isBusy)
      checkFirstSessionTurn(command.turn.request, this.#options.settings());
    return this.#turns.answer(command, {
      // The client of a turn that begins now gets its first event when the log has the message.
      onAdd: async (isWaiting) => {
        if (isWaiting) await this.#queue.whenStored;
      },
    });
  }

  async stream(command: Command<'stream'>): Promise<Response> {
    await this.#load();
    return this.#turns.stream(command);
  }

  async interrupt(command: Command<'interrupt'>): Promise<boolean> {
    await this.#load();
    return this.#turns.interrupt(command);
  }

  async messages(): Promise<readonly UIMessage[]> {
    await this.#load();
    return this.#turns.messages();
  }

  queuedMessages(): readonly QueuedMessage[] {
    return this.#turns.queuedMessages();
  }

  async withdraw(command: Command<'withdraw'>): Promise<boolean> {
    await this.#load();
    const isWithdrawn = this.#turns.withdraw(command);
    await this.#queue.whenStored;
    return isWithdrawn;
  }

  async rename({ title }: Command<'rename'>): Promise<void> {
    if (!(await this.#memory.read()).length) throw unknownSessionError();
    await this.#memory.rename(title);
  }

  async delete(): Promise<void> {
    const { settings, setup } = this.#options;
    this.#isDeleted = true;
    // What nobody can read can still be deleted.
    await this.#load().catch(() => {});
    await this.#turns.close();
    await this.#queue.clear();
    await forgetSession(settings(), setup, this.#memory);
  }

  /** Reads the turns that an earlier process has left, and runs them. */
  async #load(): Promise<void> {
    this.#whenLoaded ??= this.#queue.load().catch((error: unknown) => {
      this.#whenLoaded = undefined;
      throw error;
    });
    await this.#whenLoaded;
    if (!this.#isDeleted) void this.#turns.wake()?.catch(() => {});
  }
}
