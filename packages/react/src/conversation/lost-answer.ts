import { pause } from '../shared/page-life.ts';

/**
 * Longest pause between the attempts to read a lost answer on, in milliseconds. Each pause is a
 * second longer than the one before, which makes 36 seconds. An endpoint in KV may need 25 seconds
 * until it has stored the answer.
 */
const maxPauseMs = 8000;

export interface LostAnswerOptions {
  readonly onBegin: () => void;
  /** Tries to read the answer on. Resolves to whether the chat has it. */
  readonly attempt: () => Promise<boolean>;
  /** Called after the last attempt. */
  readonly onEnd: () => void;
}

/** Reads an answer on after the connection to its endpoint was lost. */
export class LostAnswer {
  /** Settles when no lost answer is being read on. */
  whenRegained: Promise<void> = Promise.resolve();
  readonly #options: LostAnswerOptions;
  /** Ends the pause before the next attempt. Absent if no answer is lost. */
  #regaining: AbortController | undefined;

  constructor(options: LostAnswerOptions) {
    this.#options = options;
  }

  get isLost(): boolean {
    return this.#regaining !== undefined;
  }

  regain(): Promise<void> {
    if (!this.isLost) this.whenRegained = this.#tryAgain();
    return this.whenRegained;
  }

  /** Ends the attempts. */
  giveUp(): void {
    this.#regaining?.abort();
    this.#regaining = undefined;
  }

  async #tryAgain(): Promise<void> {
    const regaining = new AbortController();
    this.#regaining = regaining;
    this.#options.onBegin();
    for (let pauseMs = 0; pauseMs <= maxPauseMs; pauseMs += 1000) {
      await pause(pauseMs, regaining.signal);
      if (regaining.signal.aborted || (await this.#options.attempt())) break;
    }
    // After a stop, the next lost answer may have begun already.
    if (this.#regaining === regaining) this.#regaining = undefined;
    if (!this.isLost) this.#options.onEnd();
  }
}
