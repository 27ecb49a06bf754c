/** Reads of a store, one at a time. A read that never settles can be begun again. */
export class StoreReads {
  #begin: (() => void) | undefined;

  /** Reads, and resolves with the first result. Results of later attempts are dropped. */
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

  /** Begins the read that is under way again. Does nothing if there is none. */
  again(): void {
    this.#begin?.();
  }
}
