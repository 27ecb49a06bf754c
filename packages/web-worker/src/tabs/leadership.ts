export interface LeadershipOptions {
  /** Of the lock. */
  readonly name: string;
  /** The lock is this worker's. `stolen`: it was taken from somebody. */
  readonly onLead: (stolen: boolean) => void;
  /** Somebody else has the lock. */
  readonly onFollow: () => void;
  /** The lock was taken away. */
  readonly onLost: () => void;
}

/**
 * A worker's claim on a session's Web Lock. Where there are no locks, or they are refused (an
 * opaque origin), it leads at once.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  #waiting: AbortController | undefined;
  #release: (() => void) | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /** Gets in line for the lock. */
  async run(): Promise<void> {
    if (this.#waiting || this.#release) return;
    const waiting = (this.#waiting = new AbortController());
    if (await this.#request({ ifAvailable: true }, waiting, false)) return;
    if (waiting.signal.aborted) return;
    this.#options.onFollow();
    await this.#request({ signal: waiting.signal }, waiting, false);
  }

  /** Takes the lock from who has it. */
  async steal(): Promise<void> {
    this.stop();
    const waiting = (this.#waiting = new AbortController());
    await this.#request({ steal: true }, waiting, true);
  }

  /** Gives the lock up, or the place in line. */
  stop(): void {
    this.#waiting?.abort();
    this.#waiting = undefined;
    this.#release?.();
    this.#release = undefined;
  }

  /** False: somebody else has it. */
  async #request(
    options: LockOptions,
    waiting: AbortController,
    stolen: boolean,
  ): Promise<boolean> {
    let release: (() => void) | undefined;
    const hold = (lock: Lock | null): Promise<void> | undefined => {
      if (!lock || waiting.signal.aborted) return undefined;
      this.#waiting = undefined;
      const held = new Promise<void>((resolve) => (this.#release = release = resolve));
      this.#options.onLead(stolen);
      return held;
    };
    try {
      await navigator.locks.request(this.#options.name, options, hold);
    } catch {
      if (waiting.signal.aborted) return false;
      if (release && this.#release === release) {
        this.#release = undefined;
        this.#options.onLost();
      } else if (!release) {
        this.#waiting = undefined;
        this.#options.onLead(false);
        return true;
      }
    }
    return release !== undefined;
  }
}
