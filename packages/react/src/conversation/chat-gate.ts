import type { Chat } from './chat.ts';

/** Lets a request begin when nothing else changes the conversation. */
export class ChatGate {
  readonly #chat: Chat;
  /** Stops, deletions and attempts to read a lost answer on. None of them rejects. */
  readonly #jobs: Set<Promise<unknown>> = new Set();

  constructor(chat: Chat) {
    this.#chat = chat;
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
