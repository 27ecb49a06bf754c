/** Pieces of work on their way to some point. */
export class Steps {
  readonly #steps: Set<Promise<void>> = new Set();

  get size(): number {
    return this.#steps.size;
  }

  /** One more; gives back what says that it is there. */
  add(): () => void {
    let resolve = (): void => {};
    const step = new Promise<void>((done) => (resolve = done));
    this.#steps.add(step);
    return () => {
      resolve();
      this.#steps.delete(step);
    };
  }

  /** Resolves when none is on its way. */
  async settled(): Promise<void> {
    while (this.size) await Promise.all(this.#steps);
  }
}
