import type { Chat } from './chat.ts';

/** Says when a request may begin: the history is loaded, and nothing changes the conversation. */
export class ChatGate {
  readonly #chat: Pick<Chat, 'isBusy' | 'whenIdle'>;
  /** Settle at the end of stops, deletions and attempts to read a lost answer on. */
  readonly #jobs: Set<Promise<void>> = new Set();
  #beginLoading!: (loading: Promise<void>) => void;
  #whenLoaded: Promise<void> = new Promise((resolve) => (this.#beginLoading = resolve));

  constructor(chat: Pick<Chat, 'isBusy' | 'whenIdle'>) {
    this.#chat = chat;
  }

  /**
   * Settles when no stream is being resumed, so when the history is complete. A component may send
   * a message before the chat has connected, for example from an effect of a child.
   */
  get whenLoaded(): Promise<void> {
    return this.#whenLoaded;
  }

  /** Lets those who wait for the first load continue when it has ended. */
  open(firstLoad: Promise<void>): void {
    this.#beginLoading(firstLoad);
  }

  /** Closes the gate until the history is loaded. */
  load(loading: Promise<void>): Promise<void> {
    this.#whenLoaded = loading;
    return loading;
  }

  /** Closes the gate until the job has ended. */
  hold<T>(job: Promise<T>): Promise<T> {
    const release = (): void => void this.#jobs.delete(whenEnded);
    const whenEnded = job.then(release, release);
    this.#jobs.add(whenEnded);
    return job;
  }

  /** Resolves when the chat reads no answer. */
  async whenIdle(): Promise<void> {
    while (this.#chat.isBusy) await this.#chat.whenIdle;
  }

  /**
   * Resolves when a tool call may change. The history is then loaded, and all jobs have ended. If
   * an answer is being read, waits for no job, because a tool may wait for the decision.
   */
  async whenReleased(): Promise<void> {
    await this.#whenLoaded;
    while (this.#jobs.size && !this.#chat.isBusy) await Promise.all(this.#jobs);
  }

  /** Resolves when the history is loaded, the chat reads no answer, and all jobs have ended. */
  async whenFree(): Promise<void> {
    await this.#whenLoaded;
    while (this.#chat.isBusy || this.#jobs.size) {
      await this.whenIdle();
      await Promise.all(this.#jobs);
    }
  }
}
