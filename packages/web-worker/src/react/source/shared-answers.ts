import type { AnswerBatches } from '../chat/chat.ts';
import type { UIMessage } from '../chat/ui-message.ts';
import { AnswerChannel } from './answer-channel.ts';
import type { Release } from './held-lock.ts';
import { SharedReading } from './shared-reading.ts';

export interface SharedAnswersOptions {
  /** Address of the conversation. */
  readonly name: string;
  /** Called when another tab begins to share an answer. */
  readonly onAnswer: () => void;
  /** Reads the stream of a response. */
  readonly batchesOf: (answer: Response) => AnswerBatches;
}

/** Reads the answers of a conversation at an endpoint once for all tabs of the user. */
export class SharedAnswers {
  readonly #options: SharedAnswersOptions;
  #isClosed = false;
  /** Absent until an answer says who the user is, because the tabs of two users share nothing. */
  #channel: AnswerChannel | undefined;

  constructor(options: SharedAnswersOptions) {
    this.#options = options;
  }

  /** Channel of the user's tabs. `undefined` while nothing is shared. */
  get channel(): AnswerChannel | undefined {
    return this.#channel;
  }

  /** Whether the notice of another tab is about an answer that it has shared. */
  isShared(notice: unknown): boolean {
    return notice === this.#channel?.name;
  }

  /** Learns from an answer of the endpoint who the user is. */
  setUser({ headers }: Response): void {
    const user = headers.get('x-isoloop-user');
    const name = `${this.#options.name}:${user}`;
    if (user === null || this.isShared(name) || this.#isClosed || !hasLocks()) return;
    this.#channel?.close();
    this.#channel = new AnswerChannel({ name, onAnswer: this.#options.onAnswer });
  }

  /**
   * Sends messages, and shares the answer. `onEnd`: is called at its end, with whether the other
   * tabs got all of it.
   */
  async send(
    messages: readonly UIMessage[],
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<Response>,
    onEnd: (isShared: boolean) => void,
  ): Promise<AnswerBatches> {
    const reading = new SharedReading(signal);
    const answer = await ask(reading.signal);
    const canRejoin = answer.headers.has('x-isoloop-rejoin');
    reading.open({ channel: this.#channel, canRejoin, messages });
    return reading.pass(this.#options.batchesOf(answer), onEnd);
  }

  /**
   * Returns the running answer, which another tab may read. `ask`: asks the endpoint for it. A
   * hidden tab asks for nothing.
   */
  async reconnect(
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<Response>,
  ): Promise<AnswerBatches | undefined> {
    if (this.#channel)
      return this.#channel.connect(signal, (release) => this.#rejoin(signal, ask, release));
    if (document.hidden) return undefined;
    const reading = new SharedReading(signal);
    const answer = await ask(reading.signal);
    if (answer.status === 204) return undefined;
    let isUsed = false;
    const read = async (release?: Release): Promise<AnswerBatches> => {
      isUsed = true;
      return this.#read(reading, answer, release);
    };
    const channel = this.#channel as AnswerChannel | undefined;
    if (!channel) return read();
    const batches = await channel.connect(signal, read);
    if (!isUsed) reading.drop();
    return batches;
  }

  /**
   * Returns the history. Loads it, unless the answer is of another tab and `shownMessages` has all
   * messages before it. The other tabs then need no request of their own.
   */
  async history(
    load: () => Promise<readonly UIMessage[]>,
    shownMessages?: readonly UIMessage[],
  ): Promise<readonly UIMessage[]> {
    const sharedMessages = shownMessages && this.#channel?.historyFrom(shownMessages);
    if (sharedMessages) return sharedMessages;
    const messages = await load();
    this.#channel?.reading?.begin(messages);
    return messages;
  }

  /** Tells the other tabs that the person has stopped the answer, so that none of them reads on. */
  stop(): void {
    this.#channel?.reading?.end(false);
  }

  close(): void {
    this.#isClosed = true;
    this.#channel?.close();
  }

  async #rejoin(
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<Response>,
    release?: Release,
  ): Promise<AnswerBatches | undefined> {
    try {
      const reading = new SharedReading(signal);
      const answer = await ask(reading.signal);
      if (answer.status !== 204) return this.#read(reading, answer, release);
    } catch (error) {
      release?.();
      throw error;
    }
    release?.();
    return undefined;
  }

  #read(reading: SharedReading, answer: Response, release: Release | undefined): AnswerBatches {
    reading.open({ channel: this.#channel, canRejoin: true, release });
    return reading.pass(this.#options.batchesOf(answer));
  }
}

/** Without Web Locks, no tab would notice that the reading tab is gone. */
function hasLocks(): boolean {
  return (navigator as { readonly locks?: LockManager }).locks !== undefined;
}
