/** Set of tasks that have not reached a certain point. */
export class WaitGroup {
  readonly #steps: Set<Promise<void>> = new Set();

  get size(): number {
    return this.#steps.size;
  }

  /** Adds a task. Returns a function to call when the task has reached the point. */
  add(): () => void {
    let resolve = (): void => {};
    const step = new Promise<void>((done) => (resolve = done));
    this.#steps.add(step);
    return () => {
      resolve();
      this.#steps.delete(step);
    };
  }

  /** Resolves when all tasks have reached the point. */
  async whenSettled(): Promise<void> {
    while (this.size) await Promise.all(this.#steps);
  }
}
