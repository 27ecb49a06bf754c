import { typedMessages, type UiChunk, type UIMessage } from '@isoloop/core/stream';
import type { AgentSessionEntry, AnswerBatches } from '@isoloop/core/host';
import { FollowedAnswer, type AnswerStart } from './followed-answer.ts';
import { takeLock, type ReleaseLock } from './held-lock.ts';
import { onVisibility } from './page-life.ts';

/** Message between the tabs. */
export type AnswerPost =
  /** A tab asks for the answer that another tab reads. */
  | { readonly type: 'ask' }
  /** An answer, as far as it has arrived. */
  | {
      readonly type: 'answer';
      readonly start: AnswerStart;
      readonly chunks: readonly UiChunk[];
    }
  | { readonly type: 'chunks'; readonly id: string; readonly chunks: readonly UiChunk[] }
  | { readonly type: 'end'; readonly id: string; readonly isLost: boolean }
  /** Conversations of the user, after an answer. */
  | { readonly type: 'list'; readonly list: readonly AgentSessionEntry[] };

/** How this tab reads an answer from the endpoint. */
export interface OwnReading {
  /** Called when another tab asks for the answer. */
  onAsked(): void;
  /** Called when another tab begins to share an answer. */
  onAnother(): void;
  /** Takes the history before a resumed answer. */
  begin(history: readonly UIMessage[]): void;
  /** Ends the reading. `isLost`: whether there may be more chunks. */
  end(isLost: boolean): void;
}

export interface AnswerChannelOptions {
  /** Name of the channel and of the lock of its reader. Only tabs of one user know it. */
  readonly name: string;
  /** Called when another tab begins to share an answer. */
  readonly onAnswer: () => void;
}

/**
 * Connects the tabs of one browser in which one user has a conversation open. The tab that holds
 * the lock reads the answer from the endpoint, and posts its chunks to the others.
 */
export class AnswerChannel {
  readonly name: string;
  /** Set while this tab reads an answer from the endpoint. */
  reading: OwnReading | undefined;
  /** Whether the list of conversations is out of date, because another tab has an answer. */
  expectsList = false;
  readonly #channel: BroadcastChannel;
  readonly #onAnswer: () => void;
  /** Absent if the list has arrived. */
  #setList: ((list: readonly AgentSessionEntry[]) => void) | undefined;
  #whenListed: Promise<readonly AgentSessionEntry[]> = this.#nextList();
  readonly #closing = new AbortController();
  #answer: FollowedAnswer | undefined;
  /** Answer that the chat has got last, until it asks again. */
  #shownStart: AnswerStart | undefined;
  /**
   * Whether this tab may lack a part of an answer, or the order of two answers. Only the history at
   * the endpoint has it. The browser may deliver the posts of two tabs in any order.
   */
  #hasGap = false;
  #setAnother!: () => void;
  /** Resolves when another tab begins to share its next answer. */
  #whenAnother: Promise<void> = this.#nextAnother();

  constructor({ name, onAnswer }: AnswerChannelOptions) {
    this.name = name;
    this.#onAnswer = onAnswer;
    this.#channel = new BroadcastChannel(name);
    this.#channel.addEventListener('message', ({ data }: MessageEvent<AnswerPost>) =>
      this.#take(data),
    );
  }

  /** Aborts when the channel is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  get whenAnother(): Promise<void> {
    return this.#whenAnother;
  }

  /** Becomes the list that another tab has loaded after its latest answer. */
  get whenListed(): Promise<readonly AgentSessionEntry[]> {
    return this.#whenListed;
  }

  /** Whether no chat of this tab has begun to read the latest answer, or has missed one. */
  get hasUnread(): boolean {
    return this.#hasGap || this.#answer?.isTaken === false;
  }

  /** Whether another tab reads an answer at the moment. */
  get isFollowing(): boolean {
    return this.#answer?.isEnded === false;
  }

  post(post: AnswerPost): void {
    if (!this.closing.aborted) this.#channel.postMessage(post);
  }

  /**
   * Returns the answer that another tab reads. Otherwise calls `read` with the lock of the reader;
   * without a lock if the browser refuses locks. A hidden tab reads nothing.
   */
  async connect(
    signal: AbortSignal,
    read: (release?: ReleaseLock) => Promise<AnswerBatches | undefined>,
  ): Promise<AnswerBatches | undefined> {
    this.#shownStart = undefined;
    if (this.#readable) return this.#follow(this.#readable, signal);
    if (document.hidden) return this.#readNothing();
    const release = await this.#lockOrAnswer(signal);
    const answer = this.#readable;
    if (answer) {
      release?.();
      return this.#follow(answer, signal);
    }
    if (signal.aborted || document.hidden) {
      release?.();
      return this.#readNothing();
    }
    this.#hasGap = false;
    return read(release);
  }

  /** Start of the answer of another tab that the chat shows. */
  get shownStart(): AnswerStart | undefined {
    return this.#shownStart;
  }

  /**
   * Returns the history before the followed answer, if `shownMessages` has all of it. A question
   * that the other tab did not have is no reason to drop it: two tabs have asked at the same time.
   */
  historyFrom(shownMessages: readonly UIMessage[]): readonly UIMessage[] | undefined {
    if (!this.#shownStart || this.#hasGap) return undefined;
    const { messageIds, question, replaces } = this.#shownStart;
    const questions = question ? (typedMessages([question]) as readonly UIMessage[]) : [];
    const byId = new Map([...shownMessages, ...questions].map((message) => [message.id, message]));
    const messages = messageIds.flatMap((id) => byId.get(id) ?? []);
    const isUnknown = ({ id, role }: UIMessage): boolean =>
      role === 'user' && !messageIds.includes(id);
    if (messages.length !== messageIds.length) return undefined;
    return !replaces && shownMessages.some(isUnknown) ? undefined : messages;
  }

  close(): void {
    this.#closing.abort();
    this.#answer?.end(true);
    this.#channel.close();
  }

  /** An answer of another tab. One that has been read, or whose reader is gone, is none. */
  get #readable(): FollowedAnswer | undefined {
    const answer = this.#answer;
    return answer?.isEnded && answer.isTaken ? undefined : answer;
  }

  /** The chat then loads the history. */
  #readNothing(): undefined {
    this.#hasGap = false;
  }

  #follow(answer: FollowedAnswer, signal: AbortSignal): AnswerBatches {
    this.#shownStart = answer.start;
    if (answer.isEnded) this.#answer = undefined;
    return answer.read(this.name, this.#whenAnother, signal);
  }

  /** Returns the lock, or nothing when an answer has arrived, the page is hidden or locks fail. */
  async #lockOrAnswer(signal: AbortSignal): Promise<ReleaseLock | undefined> {
    const waiting = new AbortController();
    const stop = (): void => waiting.abort();
    signal.addEventListener('abort', stop, { signal: waiting.signal });
    onVisibility(stop, waiting.signal);
    void this.#whenAnother.then(stop);
    if (signal.aborted) stop();
    this.post({ type: 'ask' });
    const release = await takeLock(this.name, { signal: waiting.signal });
    stop();
    return release;
  }

  #take(post: AnswerPost): void {
    switch (post.type) {
      case 'ask':
        return this.reading?.onAsked();
      case 'answer':
        return this.#begin(post.start, post.chunks);
      case 'chunks':
        if (post.id === this.#answer?.start.id) this.#answer.add(post.chunks);
        return undefined;
      case 'end':
        if (post.id !== this.#answer?.start.id) return undefined;
        this.#answer.end(post.isLost);
        if (post.isLost && !this.#answer.isTaken) this.#hasGap = true;
        // An answer that no chat has read yet is kept until one reads it.
        if (post.isLost || this.#answer.isTaken) this.#answer = undefined;
        return undefined;
      case 'list':
        this.#setList?.(post.list);
        this.#setList = undefined;
    }
  }

  #begin(start: AnswerStart, chunks: readonly UiChunk[]): void {
    // A reader repeats its answer for each tab that asks.
    if (start.id === this.#answer?.start.id) return;
    // Another answer has not been read to its end, or this tab has asked at the same time.
    if (this.#readable || (this.reading && !document.hidden)) this.#hasGap = true;
    this.#answer?.end(true);
    this.#answer = new FollowedAnswer(start, chunks);
    this.expectsList = true;
    if (!this.#setList) this.#whenListed = this.#nextList();
    this.reading?.onAnother();
    this.#setAnother();
    this.#whenAnother = this.#nextAnother();
    this.#onAnswer();
  }

  #nextList(): Promise<readonly AgentSessionEntry[]> {
    return new Promise((resolve) => (this.#setList = resolve));
  }

  #nextAnother(): Promise<void> {
    return new Promise((resolve) => (this.#setAnother = resolve));
  }
}
