import { SessionMemory } from '@isoloop/core';
import type { KeyValueStore } from '@isoloop/core';
import { toUiMessages } from '@isoloop/core/ai-sdk';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import type { SessionSetup } from '../handler-options.ts';
import { waitingCalls } from '../turn/chat-turn.ts';
import { makeAgent } from '../turn/session-agent.ts';
import { liveResponse } from './live-turn.ts';
import { MemoryQueue } from './memory-queue.ts';
import { unknownChat, type SessionCommand } from './session-command.ts';
import type { SessionSettings } from './session-host.ts';
import { checkFirst } from './session-turn.ts';
import { TurnRunner } from './turn-runner.ts';

type Command<K extends SessionCommand['type']> = Extract<SessionCommand, { type: K }>;

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
export class ProcessSession {
  readonly #options: ProcessSessionOptions;
  readonly #memory: SessionMemory;
  readonly #turns: TurnRunner;
  #isDeleted = false;

  constructor(options: ProcessSessionOptions) {
    const { settings, store, key, setup } = options;
    this.#options = options;
    this.#memory = new SessionMemory(store, key);
    this.#turns = new TurnRunner({
      settings,
      setup,
      queue: new MemoryQueue(),
      memory: this.#memory,
      onChange: () => {},
      onRest: () => {},
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

  async stream({ lastEventId, face }: Command<'stream'>): Promise<Response> {
    const { settings } = this.#options;
    const live = await this.#turns.wake()?.opened.catch(() => undefined);
    if (!live) return new Response(null, { status: 204, headers: { 'cache-control': 'no-store' } });
    return liveResponse(live, { face, settings, replay: { lastEventId } });
  }

  /** Interrupts the running turn. Resolves with false if no turn is running. */
  async interrupt({ mode, message }: Command<'interrupt'>): Promise<boolean> {
    const running = this.#turns.wake();
    if (!running) return false;
    if (mode === 'abort') return this.#turns.abort();
    return (await running.opened.catch(() => undefined))?.agent.interrupt(message) ?? false;
  }

  async messages(): Promise<readonly UiMessage[]> {
    const stored = await this.#memory.read();
    const shown = toUiMessages(stored, { pending: await waitingCalls(this.#memory) });
    const last = shown.at(-1);
    const { live } = this.#turns;
    // The stream continues the message with this id.
    if (live && last?.role === 'assistant') last.id = live.turn.messageId;
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
    const model = settings.models[0]!;
    const made = await makeAgent(settings, { ...setup, memory: this.#memory, model });
    await made.settled?.();
    await made.forget?.(setup.session);
    await made.agent.memory.clear();
  }
}
