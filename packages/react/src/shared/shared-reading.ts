import type { UiChunk, UIMessage } from '@isoloop/core/stream';
import type { AnswerBatches } from '@isoloop/core/host';
import type { AnswerChannel, OwnReading } from './answer-channel.ts';
import type { AnswerStart } from './followed-answer.ts';
import { takeLock, type ReleaseLock } from './held-lock.ts';
import { onVisibility, untilVisible } from './page-life.ts';

/** Answer of an endpoint that this tab can read. */
export interface OpenedAnswer {
  readonly batches: AnswerBatches;
  /** Ends the reading. */
  readonly signal: AbortSignal;
  /** Ends the connection. Also aborts with `signal`. */
  readonly connection: AbortController;
  /** Whether the endpoint can repeat the answer, so that the tab can leave it and read on later. */
  readonly canRejoin: boolean;
  /** Messages of a request. Absent: the history tells what stands before the answer. */
  readonly messages?: readonly UIMessage[] | undefined;
  /** Whether the request replaces later messages. */
  readonly replaces?: boolean | undefined;
  /** Called at the end of the answer, with whether the other tabs got all of it. */
  readonly onEnd?: ((isShared: boolean) => void) | undefined;
}

/**
 * Number of hidden tabs of a browser that may keep a connection. A browser opens six connections to
 * a host over HTTP/1.1, and the visible tab needs some of them.
 */
const maxHidden = 2;

/**
 * An answer that this tab reads from the endpoint. While the page is visible, the reading posts the
 * chunks to the other tabs. A page that becomes hidden lets another tab read. It keeps its
 * connection only if it is one of the few hidden ones, and until another tab reads.
 */
export class SharedReading implements OwnReading {
  readonly #channel: AnswerChannel;
  readonly #answer: OpenedAnswer;
  readonly #ending = new AbortController();
  readonly #chunks: UiChunk[] = [];
  #start: AnswerStart | undefined;
  /** Absent: the reading takes the lock with the first chunk. */
  #release: ReleaseLock | undefined;
  /** Aborts when the page is shown or hidden, or when the reading ends. */
  #changing = new AbortController();
  /**
   * Settles when the tab has the lock, or does not want it any more. Absent if the tab has not
   * asked for it since the page was shown or hidden.
   */
  #taking: Promise<void> | undefined;
  /** Whether this tab posts the chunks. */
  #isLeading = false;

  constructor(channel: AnswerChannel, answer: OpenedAnswer, release?: ReleaseLock) {
    this.#channel = channel;
    this.#answer = answer;
    this.#release = release;
    if (answer.messages)
      this.#start = { ...startOf(answer.messages, true), replaces: answer.replaces };
    channel.reading = this;
    onVisibility(() => this.#onVisibility(), this.#ending.signal);
    if (document.hidden) this.#onVisibility();
  }

  /** Takes the history before a resumed answer, and begins to share the answer. */
  begin(history: readonly UIMessage[]): void {
    if (this.#start) return;
    this.#start = startOf(history, false);
    if (this.#release) this.#lead();
    else this.#askForLock();
  }

  /** Returns the batches, and posts them to the other tabs. */
  async *pass(): AnswerBatches {
    const { batches, signal, connection, onEnd } = this.#answer;
    try {
      for await (const chunks of batches) {
        this.#add(chunks);
        yield chunks;
      }
      await this.#whenLeading();
      onEnd?.(this.#isLeading);
      this.end(false);
    } catch (error) {
      if (signal.aborted || !connection.signal.aborted) throw error;
      // If another tab reads already, there is nothing to wait for.
      if (!this.#channel.isFollowing)
        await Promise.race([untilVisible(signal), this.#channel.whenAnother]);
      throw new TypeError('The hidden page has left this answer.', { cause: error });
    } finally {
      this.end(true);
    }
  }

  onAsked(): void {
    if (this.#isLeading) this.#postAll();
  }

  onAnother(): void {
    if (document.hidden) this.#drop();
  }

  /** Ends the reading. `isLost`: whether there may be more chunks. */
  end(isLost: boolean): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    this.#leave(isLost);
    if (this.#channel.reading === this) this.#channel.reading = undefined;
  }

  /** Ends the connection, because another tab can read the answer. */
  #drop(): void {
    if (this.#answer.canRejoin) this.#answer.connection.abort();
  }

  #add(chunks: readonly UiChunk[]): void {
    if (!chunks.length) return;
    const isFirst = !this.#chunks.length;
    this.#chunks.push(...chunks);
    if (this.#isLeading) this.#channel.post({ type: 'chunks', id: this.#start!.id, chunks });
    else if (isFirst && this.#start) this.#askForLock();
  }

  /** A short answer may end before the tab has the lock. Does not wait for another reader. */
  async #whenLeading(): Promise<void> {
    if (!this.#channel.isFollowing) await Promise.race([this.#taking, this.#channel.whenAnother]);
  }

  /** Asks once: a second request of this tab would wait for the first one to end. */
  #askForLock(): void {
    this.#taking ??= this.#takeLock();
  }

  async #takeLock(): Promise<void> {
    if (document.hidden) return;
    const { signal } = this.#changing;
    const release = await takeLock(this.#channel.name, { signal });
    if (signal.aborted) return release?.();
    this.#release = release;
    this.#lead();
  }

  #lead(): void {
    if (!this.#release) return;
    this.#isLeading = true;
    this.#postAll();
  }

  #postAll(): void {
    this.#channel.post({ type: 'answer', start: this.#start!, chunks: this.#chunks });
  }

  #onVisibility(): void {
    this.#leave(true);
    this.#changing = new AbortController();
    this.#taking = undefined;
    if (document.hidden) void this.#keepHidden();
    else if (this.#chunks.length && this.#start) {
      // The other tabs have seen the end of the earlier id.
      this.#start = { ...this.#start, id: crypto.randomUUID() };
      this.#askForLock();
    }
  }

  /** Keeps the connection of a hidden page, if it is one of a few. */
  async #keepHidden(): Promise<void> {
    const { signal } = this.#changing;
    const release = await hiddenSlot();
    if (signal.aborted) return release?.();
    if (release) signal.addEventListener('abort', release);
    else this.#drop();
  }

  /** Stops to share. */
  #leave(isLost: boolean): void {
    if (this.#isLeading) this.#channel.post({ type: 'end', id: this.#start!.id, isLost });
    this.#isLeading = false;
    this.#release?.();
    this.#release = undefined;
    this.#changing.abort();
  }
}

/** Returns what stands before the answer to these messages. */
function startOf(messages: readonly UIMessage[], isRequest: boolean): AnswerStart {
  const count = messages.findLastIndex(({ role }) => role === 'user') + 1;
  const last = messages.at(-1);
  return {
    id: crypto.randomUUID(),
    messageIds: messages.slice(0, count).map(({ id }) => id),
    question: jsonOf(messages[count - 1]),
    continued: isRequest && last?.role === 'assistant' ? jsonOf(last) : undefined,
  };
}

/** The endpoint gets JSON, too. A message may have values that no other tab can get. */
function jsonOf(message: UIMessage | undefined): UIMessage | undefined {
  return message && (JSON.parse(JSON.stringify(message)) as UIMessage);
}

/** Returns one of the places of hidden tabs, or `undefined` if others have all of them. */
async function hiddenSlot(): Promise<ReleaseLock | undefined> {
  for (let place = 0; place < maxHidden; place += 1) {
    const release = await takeLock(`isoloop:hidden:${place}`, { ifAvailable: true });
    if (release) return release;
  }
  return undefined;
}
