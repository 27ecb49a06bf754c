/** Reads of a store, one at a time. A read that never settles can be started again. */
export class RestartableReads {
  #begin: (() => void) | undefined;

  /**
   * Calls `read` and resolves with the first result. If the read was started again, later results
   * are dropped.
   */
  async take<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#begin = () => void read().then(resolve, reject);
        this.#begin();
      });
    } finally {
      this.#begin = undefined;
    }
  }

  /** Starts the current read again. Does nothing without a current read. */
  restart(): void {
    this.#begin?.();
  }
}
