import { SessionMemory } from '@isoloop/core';
import type { KeyValueStore } from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import type { SessionSetup } from '../../handler-options.ts';
import { liveResponse } from '../live-turn.ts';
import { MemoryQueue } from '../queue/memory-queue.ts';
import {
  forgetSession,
  interruptTurn,
  shownMessages,
  streamTurn,
  type Command,
  type HostedSession,
} from '../session-acts.ts';
import { unknownChat } from '../session-command.ts';
import type { SessionSettings } from '../session-host.ts';
import { checkFirst } from '../session-turn.ts';
import { TurnRunner } from '../queue/turn-runner.ts';
import { LongMemory } from '../unload-long.ts';

export interface ProcessSessionOptions {
  readonly settings: SessionSettings;
  readonly store: KeyValueStore;
  /** Id of the session in the store. */
  readonly key: string;
  readonly setup: SessionSetup;
}

/**
 * Session in the memory of a process, with its log in a store. Its turns run one after the other,
 * with or without clients. If the process dies, the log keeps what a turn has stored.
 */
export class ProcessSession implements HostedSession {
  readonly #options: ProcessSessionOptions;
  readonly #memory: SessionMemory;
  readonly #longMemory: LongMemory;
  readonly #turns: TurnRunner;
  #isDeleted = false;

  constructor(options: ProcessSessionOptions) {
    const { settings, store, key, setup } = options;
    this.#options = options;
    this.#memory = new SessionMemory(store, key);
    this.#longMemory = new LongMemory(this.#memory, () => this.isBusy);
    this.#turns = new TurnRunner({
      settings,
      setup,
      queue: new MemoryQueue(),
      memory: this.#memory,
      onChange: () => {},
      onRest: () => this.#longMemory.rest(),
    });
  }

  /** Whether a turn is running or waiting. */
  get isBusy(): boolean {
    return this.#turns.isBusy;
  }

  /** Runs a turn. Resolves with `undefined` if the session was deleted meanwhile. */
  async turn({ turn, face }: Command<'turn'>): Promise<Response | undefined> {
    const { settings } = this.#options;
    const isNew = (await this.#memory.read()).length === 0;
    if (this.#isDeleted) return undefined;
    const turns = this.#turns;
    const again = turns.find(turn);
    if (again) return liveResponse(again.opened, { face, settings, replay: {} });
    if (isNew && !turns.isBusy) checkFirst(turn.turn);
    turns.checkRoom();
    const { waits, opened } = turns.add(turn, false);
    turns.work();
    return liveResponse(waits ? opened : await opened, { face, settings });
  }

  stream(command: Command<'stream'>): Promise<Response> {
    return streamTurn(this.#turns.wake(), command, this.#options.settings);
  }

  interrupt(command: Command<'interrupt'>): Promise<boolean> {
    return interruptTurn(this.#turns.wake(), this.#turns, command);
  }

  async messages(): Promise<readonly UiMessage[]> {
    const shown = await shownMessages(await this.#memory.read(), this.#memory, this.#turns);
    this.#longMemory.rest();
    return shown;
  }

  /** Gives the session another title. Rejects with `NOT_FOUND` if there is no such session. */
  async rename({ title }: Command<'rename'>): Promise<void> {
    if (!(await this.#memory.read()).length) throw unknownChat();
    await this.#memory.rename(title);
  }

  async delete(): Promise<void> {
    const { settings, setup } = this.#options;
    this.#isDeleted = true;
    await this.#turns.close();
    await forgetSession(settings, setup, this.#memory);
  }
}
