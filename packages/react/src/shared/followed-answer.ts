import { sleepFor } from '@isoloop/core/wait';
import type { AnswerBatches } from '@isoloop/core/host';
import type { UiChunk, UIMessage } from '@isoloop/core/stream';
import { takeLock } from './held-lock.ts';
import { onVisibility, untilVisible } from './page-life.ts';

/** What stands before an answer. A tab that has all these messages needs no request. */
export interface AnswerStart {
  readonly id: string;
  /** Ids of the messages up to the question. */
  readonly messageIds: readonly string[];
  /** The question, which other tabs may not have. */
  readonly question: UIMessage | undefined;
  /** Whether the answer replaces later messages, as after an edit. */
  readonly replaces?: boolean | undefined;
  /** Answer that is continued. Absent for a new one, and if the chunks have it. */
  readonly continued?: UIMessage | undefined;
}

/**
 * Time in which the end of an answer arrives, after the lock of its reader was free. The browser
 * may deliver the two in any order.
 */
const lateEndMs = 500;

/** An answer that another tab reads, as far as it has arrived. */
export class FollowedAnswer {
  readonly start: AnswerStart;
  /** Whether a chat of this tab has begun to read the answer. */
  isTaken = false;
  readonly #chunks: UiChunk[];
  readonly #ending = new AbortController();
  #isLost = false;
  #wake = (): void => {};

  constructor(start: AnswerStart, chunks: readonly UiChunk[]) {
    this.start = start;
    this.#chunks = [...chunks];
  }

  get isEnded(): boolean {
    return this.#ending.signal.aborted;
  }

  add(chunks: readonly UiChunk[]): void {
    this.#chunks.push(...chunks);
    this.#wake();
  }

  /** `isLost`: whether the reader has left before the end of the answer. */
  end(isLost: boolean): void {
    if (this.isEnded) return;
    this.#isLost = isLost;
    this.#ending.abort();
    this.#wake();
  }

  /**
   * Returns the answer from its beginning. If its reader leaves, throws the error of a lost
   * connection, so that the chat reads on. A hidden tab first waits until it is visible, or until
   * `whenAnother` resolves, because another tab reads on.
   */
  read(lock: string, whenAnother: Promise<void>, signal: AbortSignal): AnswerBatches {
    this.isTaken = true;
    this.#watchReader(lock);
    const batches = this.#batches(whenAnother, signal);
    return Object.assign(batches, { continued: this.start.continued });
  }

  async *#batches(whenAnother: Promise<void>, signal: AbortSignal): AnswerBatches {
    const stop = (): void => this.#wake();
    signal.addEventListener('abort', stop);
    for (let index = 0; !signal.aborted;) {
      const batch = this.#chunks.slice(index);
      index += batch.length;
      if (batch.length) yield batch;
      else if (!this.isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if (!this.#isLost) return;
      else {
        await Promise.race([untilVisible(signal), whenAnother]);
        throw new TypeError('The tab that read this answer is gone.');
      }
    }
  }

  /**
   * Notices that the reader is gone, whose lock is then free. A hidden tab does not wait for the
   * lock: a browser may give it to a page that it has frozen.
   */
  #watchReader(lock: string): void {
    let watching = new AbortController();
    const look = async (): Promise<void> => {
      watching.abort();
      if (document.hidden || this.isEnded) return;
      const { signal } = (watching = new AbortController());
      const release = await takeLock(lock, { signal });
      release?.();
      if (!release || signal.aborted) return;
      await sleepFor(lateEndMs, signal);
      if (!signal.aborted) this.end(true);
    };
    onVisibility(look, this.#ending.signal);
    this.#ending.signal.addEventListener('abort', () => watching.abort());
    void look();
  }
}
