import type { Chat } from '../chat/chat.ts';

/** Lets a request begin when nothing else changes the conversation. */
export class ChatGate {
  readonly #chat: Chat;
  /** Stops, deletions and attempts to read a lost answer on. None of them rejects. */
  readonly #jobs: Set<Promise<unknown>> = new Set();
  #connect!: (loading: void | Promise<void>) => void;
  /**
   * Settles when no stream is being resumed, so when the history is complete. A component may send
   * a message before the chat has connected, for example from an effect of a child.
   */
  #whenLoaded: Promise<void> = new Promise((resolve) => (this.#connect = resolve));

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  get whenLoaded(): Promise<void> {
    return this.#whenLoaded;
  }

  /** Opens the gate of a chat that has connected, when its first load has ended. */
  open(loading?: Promise<void>): void {
    this.#connect(loading);
  }

  /** Notes that the history is being loaded. */
  load(loading: Promise<void>): Promise<void> {
    this.#whenLoaded = loading;
    return loading;
  }

  /** Closes the gate until the job has ended. */
  hold<T>(job: Promise<T>): Promise<T> {
    this.#jobs.add(job);
    const release = (): void => void this.#jobs.delete(job);
    job.then(release, release);
    return job;
  }

  /** Resolves when the chat reads no answer. */
  async whenIdle(): Promise<void> {
    while (this.#chat.isBusy) await this.#chat.whenIdle;
  }

  /** Resolves when the chat reads no answer, and all jobs have ended. */
  async whenFree(): Promise<void> {
    while (this.#chat.isBusy || this.#jobs.size) {
      await this.whenIdle();
      await Promise.all(this.#jobs);
    }
  }
}
