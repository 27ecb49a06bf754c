import type { AgentLink, QueuedMessage, RequestOptions } from '@isoloop/core/host';
import type { UIMessage } from '@isoloop/core/stream';
import { isEqual } from '../reading/is-equal.ts';
import { AnswerOrder } from './answer-order.ts';
import type { ChatQueue } from './chat-queue.ts';
import { clearHeld, heldKeys, heldPlace, watchHeld, type HeldPlace } from './held-place.ts';
import { toUserMessage, type MessageInput } from './message-input.ts';

/** What the queue needs of its conversation. */
export interface SendingQueueOptions {
  readonly chat: {
    readonly state: { readonly messages: readonly UIMessage[]; readonly error?: Error | undefined };
    sendMessage(input: MessageInput, options?: RequestOptions): Promise<void>;
  };
  readonly connection: { readonly isOpen: boolean; readonly link: AgentLink };
  /** Says when a request may begin. */
  readonly gate: { whenFree(): Promise<void> };
  readonly loading: {
    /** Whether an answer is being read, also one that is loaded or lost. */
    readonly isReading: boolean;
    /** Calls `listener` each time when the history is loaded. */
    onLoaded(listener: () => void): void;
  };
  /** What the page shows. */
  readonly store: {
    readonly state: { readonly queued: readonly QueuedMessage[] };
    subscribe(listener: () => void): unknown;
    set(changes: { readonly queued?: readonly QueuedMessage[]; readonly error?: Error }): void;
  };
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
    const { chat, loading, store } = options;
    loading.onLoaded(() => void this.take());
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
  send(act: () => Promise<void>): Promise<void> {
    return this.#order.add(() => this.#options.gate.whenFree(), act);
  }

  /**
   * Sends a new message when the answers to earlier messages have ended. Until then, the browser
   * keeps it, and the page shows it in its queue.
   */
  sendMessage(input: MessageInput, options: RequestOptions = {}): Promise<void> {
    const { chat, loading } = this.#options;
    if (!this.#place || (!loading.isReading && !this.#order.unanswered))
      return this.send(() => chat.sendMessage(input, options));
    const whenHeld = this.#hold(input, options);
    // The failure is reported when it is the turn of the message, which may be minutes later.
    whenHeld.catch(() => {});
    return this.send(async () => {
      const sendHeld = await whenHeld;
      return sendHeld();
    });
  }

  /** Takes back a message that waits, or forgets one that has failed. */
  async withdraw(id: string): Promise<void> {
    const { link } = this.#options.connection;
    if (!this.#queue?.remove(id)) {
      await link.withdraw?.(id);
      await link.history();
    }
    this.show();
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
    const { deletions } = this.#order;
    const [message, queue] = await Promise.all([toUserMessage(input), this.#load()]);
    // The order has dropped the message. If the browser kept it, the next page would send it.
    if (deletions !== this.#order.deletions) return async () => {};
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
    const { chat, connection, store } = this.#options;
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
      history: async () => connection.link.history(),
      onChange: () => this.show(),
      onFailure: (error) => store.set({ error }),
    });
    return this.#queue;
  }
}
