export interface LockListener {
  /**
   * Called when this worker gets the lock. `isStolen`: whether this worker took the lock from
   * another worker.
   */
  onLead(isStolen: boolean): void;
  /** Called when another worker has the lock. */
  onFollow(): void;
  /** Called when another worker has taken the lock away. */
  onLost(): void;
  /** Called when the browser refuses locks, as in an opaque origin. */
  onRefused(): void;
}

/** Web Lock of a session. The worker that holds the lock is the leader. */
export class SessionLock {
  /** Object to notify: the present host of the session in this worker. */
  listener: LockListener;
  readonly #name: string;
  #waitController: AbortController | undefined;
  #release: (() => void) | undefined;

  constructor(name: string, listener: LockListener) {
    this.#name = name;
    this.listener = listener;
  }

  /** Waits for the lock in the browser's queue. */
  async acquire(): Promise<void> {
    if (this.#waitController || this.#release) return;
    const waitController = (this.#waitController = new AbortController());
    if (await this.#request({ ifAvailable: true }, waitController, false)) return;
    if (waitController.signal.aborted) return;
    this.listener.onFollow();
    await this.#request({ signal: waitController.signal }, waitController, false);
  }

  /** Takes the lock from the worker that holds it. */
  async steal(): Promise<void> {
    this.stop();
    const waitController = (this.#waitController = new AbortController());
    await this.#request({ steal: true }, waitController, true);
  }

  /** Releases the lock, or stops waiting for it. */
  stop(): void {
    this.#waitController?.abort();
    this.#waitController = undefined;
    this.#release?.();
    this.#release = undefined;
  }

  /** Requests the lock. Returns false if another worker has it. */
  async #request(
    options: LockOptions,
    waitController: AbortController,
    isStolen: boolean,
  ): Promise<boolean> {
    let release: (() => void) | undefined;
    const hold = (lock: Lock | null): Promise<void> | undefined => {
      if (!lock || waitController.signal.aborted) return undefined;
      this.#waitController = undefined;
      const holding = new Promise<void>((resolve) => (this.#release = release = resolve));
      this.listener.onLead(isStolen);
      return holding;
    };
    try {
      await navigator.locks.request(this.#name, options, hold);
    } catch {
      if (waitController.signal.aborted) return false;
      if (release && this.#release === release) {
        this.#release = undefined;
        this.listener.onLost();
      } else if (!release) {
        this.#waitController = undefined;
        this.listener.onRefused();
        return true;
      }
    }
    return release !== undefined;
  }
}

/** Returns whether the browser has Web Locks and grants them. */
export async function canLock(): Promise<boolean> {
  const { locks } = navigator as { readonly locks?: LockManager };
  const name = `isoloop:probe:${crypto.randomUUID()}`;
  return locks ? locks.request(name, () => true).catch(() => false) : false;
}
