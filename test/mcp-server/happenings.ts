/** Counts events by name, so that tests can wait for them. */
export class Happenings {
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  happen(what: string): void {
    this.#counts.set(what, this.count(what) + 1);
    for (const wake of this.#waiting.get(what) ?? []) wake();
    this.#waiting.delete(what);
  }

  count(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  /** Resolves when the event has happened. The name `what:3` means the third time. */
  async wait(asked: string): Promise<{ readonly happened: string }> {
    const [what = '', times = 1] = asked.split(':');
    while (this.count(what) < Number(times)) {
      await new Promise<void>((resolve) =>
        this.#waiting.set(what, [...(this.#waiting.get(what) ?? []), resolve]),
      );
    }
    return { happened: asked };
  }
}
