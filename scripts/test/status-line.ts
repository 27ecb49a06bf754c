/** Minimum time between two status lines if there is no terminal, in milliseconds. */
const plainIntervalMs = 15_000;

/**
 * Shows the progress of the running steps. A terminal gets one line that changes, other outputs get
 * a new line every 15 seconds.
 */
export class StatusLine {
  readonly #texts = new Map<string, string>();
  #isShown = false;
  #printedAt = Date.now();

  /** Shows what a step does, until `end()` of this step. */
  show(step: string, text: string): void {
    this.#texts.set(step, text);
    this.#draw();
  }

  end(step: string): void {
    this.#texts.delete(step);
    this.#draw();
  }

  /** Prints text that stays, above the status line. */
  print(text: string): void {
    this.#clear();
    process.stdout.write(text);
    if (text.endsWith('\n')) this.#draw();
  }

  #draw(): void {
    const all = [...this.#texts].map(([step, text]) => `${step}: ${text}`);
    const line = `        ${all.join('   ')}`;
    if (process.stdout.isTTY) {
      this.#clear();
      if (all.length === 0) return;
      process.stdout.write(line.slice(0, process.stdout.columns - 1));
      this.#isShown = true;
      return;
    }
    if (all.length === 0 || Date.now() - this.#printedAt < plainIntervalMs) return;
    this.#printedAt = Date.now();
    console.log(line);
  }

  #clear(): void {
    if (this.#isShown) process.stdout.write('\r\u001B[2K');
    this.#isShown = false;
  }
}
