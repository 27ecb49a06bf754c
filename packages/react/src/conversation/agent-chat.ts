import type { UIMessage } from '@isoloop/core/stream';
import type { AgentLink } from '@isoloop/core/host';
import { SendingQueue } from '../queue/sending-queue.ts';
import type { AgentTimelineEvent } from '../reading/timeline-events.ts';
import type { LatestHandlers } from './chat-components.ts';
import { ChatConnection } from './chat-connection.ts';
import { ChatGate } from './chat-gate.ts';
import { ChatLoading } from './chat-loading.ts';
import { ChatSessions } from './chat-sessions.ts';
import { ChatStore, type AgentChatState } from './chat-store.ts';
import { Chat } from './chat.ts';
import { stopTurn } from './stopped-turn.ts';

export interface AgentChatOptions {
  readonly openLink: () => AgentLink;
  /** Whether no stored conversation has this id, so that there is nothing to load. */
  readonly isNew: boolean;
  /** Messages that are shown until the history is loaded. Default: none. */
  readonly messages?: readonly UIMessage[] | undefined;
}

/**
 * Conversation on a page. It is connected while a component shows it and while it reads an answer.
 * It loads the history, resumes a running answer, and follows the runs of other tabs.
 */
export class AgentChat {
  readonly chat: Chat;
  readonly gate: ChatGate;
  readonly loading: ChatLoading;
  readonly queue: SendingQueue;
  readonly sessions: ChatSessions;
  readonly #store: ChatStore;
  readonly #connection: ChatConnection;
  /** Whether the conversation begins here, so that there is nothing to load. */
  #isNew: boolean;
  /** Settles when the stop of an answer has ended. Absent if none is being stopped. */
  #stopping: Promise<void> | undefined;

  constructor({ openLink, isNew, messages = [] }: AgentChatOptions) {
    // Each part knows only the parts before it, and listens to them.
    const store = new ChatStore(isNew, messages);
    const connection = new ChatConnection(openLink);
    const chat = new Chat(connection, store);
    const gate = new ChatGate(chat);
    const loading = new ChatLoading({ chat, connection, gate, store });
    const queue = new SendingQueue({ chat, connection, gate, loading, store });
    const sessions = new ChatSessions({ chat, connection, gate, queue, store });
    this.#isNew = isNew;
    this.#store = store;
    this.#connection = connection;
    this.chat = chat;
    this.gate = gate;
    this.loading = loading;
    this.queue = queue;
    this.sessions = sessions;
  }

  get state(): AgentChatState {
    return this.#store.state;
  }

  /** Events of the latest runs, without prompts. Is replaced at each event. */
  get events(): readonly AgentTimelineEvent[] {
    return this.#store.runEvents.list;
  }

  /** Calls `listener` at each change of `state` or `events`. Returns a function that stops this. */
  get subscribe(): (listener: () => void) => () => void {
    return this.#store.subscribe;
  }

  /** Connects, unless another component has done so. Returns a function that leaves the chat. */
  enter(handlers: LatestHandlers): () => void {
    const { components } = this.#store;
    components.add(handlers);
    if (this.#connection.isOpen) this.#connection.sent?.enter();
    else this.#connect();
    return () => {
      components.remove(handlers);
      if (components.count === 0) this.#connection.sent?.leave();
      // In strict mode, React leaves and enters again at once.
      queueMicrotask(() => void this.#closeIfUnused());
    };
  }

  /** Connects anew after a running answer, because the options of the agent have changed. */
  async reconnect(): Promise<void> {
    if (!this.#connection.isOpen) return;
    await this.gate.whenFree();
    if (!this.#connection.isOpen) return;
    this.#connection.link.close();
    this.#connect();
  }

  /** Does something that the person asked for. A failure becomes `error` of the hook. */
  async attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    this.#store.set({ error: undefined });
    try {
      return await act();
    } catch (error) {
      this.#store.set({ error: error as Error });
      return undefined;
    }
  }

  /**
   * Stops the answer where it runs, also one that another page has asked for. Rejects if it goes
   * on, and then the chat still shows it.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.gate.hold(
      this.#stopTurn().finally(() => {
        this.#stopping = undefined;
      }),
    );
    return this.#stopping;
  }

  async #stopTurn(): Promise<void> {
    const isReplay = this.loading.isResuming;
    const connection = this.#connection;
    const wasLost = await stopTurn({
      chat: this.chat,
      stop: async (signal) => connection.isOpen && connection.link.stop(signal),
      whenSent: connection.whenSent,
      whenEnded: this.loading.whenRegained.then(() => this.gate.whenIdle()),
      giveUp: () => this.loading.giveUp(),
    });
    // The stream may have ended before it repeated the answer so far.
    const isIncomplete = isReplay || (wasLost && (await this.loading.hasQuestion()));
    if (isIncomplete && connection.isOpen) await this.loading.resume('check');
  }

  #connect(): void {
    const link = this.#connection.open();
    link.watch(
      (runId, isNews) => this.loading.look(runId, isNews),
      () => void this.#onDeleted(),
    );
    void this.sessions.load();
    this.gate.open(this.loading.begin(this.#isNew));
    this.#isNew = false;
    this.queue.open(link);
  }

  async #closeIfUnused(): Promise<void> {
    const connection = this.#connection;
    // Messages that wait are sent first. Closing the link to a worker would abort the answer.
    await this.queue.whenNoneWaits();
    if (!connection.isOpen || !connection.link.outlivesPage) await this.gate.whenIdle();
    if (this.#store.components.count || !connection.isOpen) return;
    this.loading.giveUp();
    const link = connection.leave();
    this.queue.close();
    const whenStopped = this.chat.stop();
    // An endpoint tells other tabs when the reading has ended. A worker may never answer.
    if (link.outlivesPage) await whenStopped;
    link.close();
  }

  /**
   * Drops a conversation that somebody has deleted or that is another person's, and looks again.
   */
  async #onDeleted(): Promise<void> {
    this.queue.forget();
    this.loading.forget();
    await this.chat.stop();
    this.loading.forget();
    this.chat.clearError();
    this.#store.set({ error: undefined, phase: 'idle' });
    this.loading.look();
    void this.sessions.load();
  }
}
