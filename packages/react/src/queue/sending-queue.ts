import type { AgentLink, RequestOptions } from '@isoloop/core/host';
import type { ChatConnection } from '../conversation/chat-connection.ts';
import type { ChatGate } from '../conversation/chat-gate.ts';
import type { ChatStore } from '../conversation/chat-store.ts';
import type { Chat } from '../conversation/chat.ts';
import { isEqual } from '../reading/is-equal.ts';
import { toUserMessage, type MessageInput } from '../queue/message-input.ts';
import { AnswerOrder } from '../queue/answer-order.ts';
import type { ChatQueue } from '../queue/chat-queue.ts';
import { clearHeld, heldKeys, heldPlace, watchHeld, type HeldPlace } from '../queue/held-place.ts';

export interface SendingQueueOptions {
  readonly chat: Chat;
  readonly connection: ChatConnection;
  readonly gate: ChatGate;
  readonly store: ChatStore;
  /** Whether an answer is being read, also one that is loaded or lost. */
  readonly isReading: () => boolean;
}

/** Sends the messages of a page one after the other, and shows those that wait. */
export class SendingQueue {
  readonly #options: SendingQueueOptions;
  readonly #order = new AnswerOrder();
  /** Where the browser keeps the messages of the connection. Absent if the chat is closed. */
  #place: HeldPlace | undefined;
  #unwatch: () => void = () => {};
  /** Messages that wait in this page. Absent until one does. */
  #queue: ChatQueue | undefined;
  /** Becomes the queue. All messages wait for one promise, so they keep their order. */
  #whenQueue: Promise<ChatQueue | undefined> | undefined;

  /** Number of messages that the conversation had when the queue was last shown. */
  #messageCount = 0;

  constructor(options: SendingQueueOptions) {
    this.#options = options;
    const { chat, store } = options;
    store.subscribe(() => {
      // A message that the conversation has no longer waits.
      if (chat.state.messages.length !== this.#messageCount) this.show();
    });
  }

  /** Uses the place of a new connection. */
  open({ queuePlace }: AgentLink): void {
    this.#unwatch();
    this.#place = heldPlace(queuePlace.storage, queuePlace.key);
    this.#unwatch = watchHeld(this.#place, () => void this.take());
  }

  close(): void {
    this.#unwatch();
    this.#place = undefined;
    this.#queue = undefined;
    this.#whenQueue = undefined;
  }

  /** Resolves when no message waits for the answer to another one. */
  async whenNoneWaits(): Promise<void> {
    if (this.#order.unanswered > 1) await this.#order.whenAnswered;
  }

  /** Makes a request when the answers to earlier messages have ended. */
  send(act: () => PromiseLike<void>): Promise<void> {
    const { connection, gate, store } = this.#options;
    return this.#order.add(
      () => gate.whenFree(),
      () => store.attempt(() => connection.whenLoaded.then(act)),
    );
  }

  /**
   * Sends a new message when the answers to earlier messages have ended. Until then, the browser
   * keeps it, and the page shows it in its queue.
   */
  sendMessage(input: MessageInput, options: RequestOptions = {}): Promise<void> {
    const { chat, isReading } = this.#options;
    if (!this.#place || (!isReading() && !this.#order.unanswered))
      return this.send(() => chat.sendMessage(input, options));
    const whenHeld = this.#hold(input, options);
    return this.send(async () => {
      const sendHeld = await whenHeld;
      return sendHeld();
    });
  }

  /** Takes back a message that waits, or forgets one that has failed. */
  async withdraw(id: string): Promise<void> {
    const { connection, store } = this.#options;
    await store.attempt(async () => {
      const { link } = connection;
      if (!this.#queue?.remove(id)) {
        await link.withdraw?.(id);
        await link.history();
      }
      this.show();
    });
  }

  /** Shows the messages that wait, and sends those that an earlier page or another tab has left. */
  async take(): Promise<void> {
    this.show();
    const hasHeld = this.#place && heldKeys(this.#place).length > 0;
    if (!this.#queue && !hasHeld) return;
    const queue = await this.#load();
    queue?.take();
  }

  /** Shows the messages that wait in this page and at the endpoint. */
  show(): void {
    const { chat, connection, store } = this.#options;
    const shownMessages = chat.state.messages;
    this.#messageCount = shownMessages.length;
    const shownIds = new Set(shownMessages.map(({ id }) => id));
    const queuedThere = connection.isOpen ? (connection.link.queuedMessages ?? []) : [];
    const messages = [...queuedThere, ...(this.#queue?.list() ?? [])];
    const list = messages.filter(({ id, state }) => state === 'failed' || !shownIds.has(id));
    if (!isEqual(list, store.state.queued)) store.set({ queued: list });
  }

  /** Drops the messages that wait in this page. */
  forget(): void {
    this.#order.drop();
    if (this.#place) clearHeld(this.#place);
    this.#queue?.clear();
    this.show();
  }

  /** Keeps a message. Returns a function that sends it. */
  async #hold(input: MessageInput, options: RequestOptions): Promise<() => Promise<void>> {
    const [message, queue] = await Promise.all([toUserMessage(input), this.#load()]);
    queue?.hold(message);
    return () =>
      queue?.send(message.id, options) ?? this.#options.chat.sendMessage(message, options);
  }

  #load(): Promise<ChatQueue | undefined> {
    this.#whenQueue ??= this.#openQueue();
    return this.#whenQueue;
  }

  /** Returns `undefined` if the chat is closed, or if the browser can't load the queue. */
  async #openQueue(): Promise<ChatQueue | undefined> {
    const { chat, connection } = this.#options;
    // Loaded at its first use, because most messages never wait.
    const module = await import('../queue/chat-queue.ts').catch(() => undefined);
    if (!this.#place || !module) {
      this.#whenQueue = undefined;
      return undefined;
    }
    this.#queue ??= new module.ChatQueue({
      place: this.#place,
      whenAnswered: (job) => this.send(job),
      send: async (message, options) => {
        await chat.sendMessage(message, options);
        return chat.state.error;
      },
      history: () => connection.history(),
      onChange: () => this.show(),
    });
    return this.#queue;
  }
}
