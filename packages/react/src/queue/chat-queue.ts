import type { UIMessage } from '@isoloop/core/stream';
import type { QueuedMessage, RequestOptions } from '@isoloop/core/host';
import { HeldMessages } from './held-messages.ts';
import type { HeldPlace } from './held-place.ts';

export interface ChatQueueOptions {
  readonly place: HeldPlace;
  /** Runs a job when the answers to earlier messages have ended. */
  readonly whenAnswered: (job: () => Promise<void>) => Promise<void>;
  /** Sends a message. Resolves to the failure of its answer, if it has failed. */
  readonly send: (message: UIMessage, options?: RequestOptions) => Promise<Error | undefined>;
  readonly history: () => Promise<readonly UIMessage[]>;
  readonly onChange: () => void;
  /** Called if a message that an earlier page or another tab has left cannot be sent. */
  readonly onFailure: (error: Error) => void;
}

/**
 * Messages that wait in this page for the end of an answer. A page loads this when a message waits,
 * or when an earlier page has left one.
 */
export class ChatQueue {
  readonly #options: ChatQueueOptions;
  readonly #heldMessages: HeldMessages;
  /** Ids of the messages that this page shows. Before the history, it does not know the others. */
  readonly #shownIds: Set<string> = new Set();
  /** Ids of the messages that this page sends when it is their turn. */
  readonly #sendingIds: Set<string> = new Set();

  constructor(options: ChatQueueOptions) {
    this.#options = options;
    this.#heldMessages = new HeldMessages(options.place);
  }

  list(): readonly QueuedMessage[] {
    const messages = this.#heldMessages.list().filter(({ id }) => this.#shownIds.has(id));
    return messages.map((message) => ({ id: message.id, message, state: 'waiting' }));
  }

  /** Keeps and shows a message that `send()` sends later. */
  hold(message: UIMessage): void {
    this.#shownIds.add(message.id);
    this.#sendingIds.add(message.id);
    this.#heldMessages.add(message);
    this.#options.onChange();
  }

  /** Sends a message of the queue, unless it was withdrawn or another tab has sent it. */
  async send(id: string, options?: RequestOptions): Promise<void> {
    await this.#heldMessages.sendAlone(async () => {
      const message = this.#heldMessages.list().find((each) => each.id === id);
      const error = message && (await this.#options.send(message, options));
      // The next page sends it if the worker has ended before.
      const { code } = Object(error) as { readonly code?: string };
      if (!code?.startsWith('WORKER_')) this.#heldMessages.remove(id);
      this.#options.onChange();
    });
  }

  /** Shows the queue, and sends the messages in it that an earlier page or another tab has left. */
  take(): void {
    for (const { id } of this.#heldMessages.list()) {
      if (this.#sendingIds.has(id)) continue;
      this.#shownIds.add(id);
      this.#sendingIds.add(id);
      const sending = this.#options.whenAnswered(() => this.#sendLeft(id));
      sending.catch((error: Error) => {
        // The next time when the page takes the queue, it tries again.
        this.#sendingIds.delete(id);
        this.#options.onFailure(error);
      });
    }
    this.#options.onChange();
  }

  /** Returns whether there was such a message. */
  remove(id: string): boolean {
    return this.#heldMessages.remove(id);
  }

  clear(): void {
    this.#heldMessages.clear();
  }

  /** Sends a message that an earlier page has left, unless that page has sent it already. */
  async #sendLeft(id: string): Promise<void> {
    const history = await this.#options.history();
    if (history.some((message) => message.id === id)) this.remove(id);
    await this.send(id);
  }
}
