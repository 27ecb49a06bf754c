/**
 * Without a terminal: time before the first status line, in milliseconds. Each later interval grows
 * by this time.
 */
const firstIntervalMs = 20_000;

/**
 * Shows how many steps are done, and the progress of the running ones. A terminal gets one line
 * that changes. Other outputs get a new line in growing intervals, so that a slow machine does not
 * fill a page.
 */
export class StatusLine {
  readonly #stepCount: number;
  readonly #texts = new Map<string, string>();
  #endedSteps = 0;
  #isShown = false;
  #printedAt = Date.now();
  #intervalMs = firstIntervalMs;

  constructor(stepCount: number) {
    this.#stepCount = stepCount;
  }

  /** Shows what a step does, until `end()` of this step. */
  show(step: string, text: string): void {
    this.#texts.set(step, text);
    this.#draw();
  }

  end(step: string): void {
    this.#texts.delete(step);
    this.#endedSteps += 1;
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
    const line = `        ${this.#endedSteps} of ${this.#stepCount} steps done; ${all.join('; ')}`;
    if (process.stdout.isTTY) {
      this.#clear();
      if (all.length === 0) return;
      process.stdout.write(line.slice(0, process.stdout.columns - 1));
      this.#isShown = true;
      return;
    }
    if (all.length === 0 || Date.now() - this.#printedAt < this.#intervalMs) return;
    this.#printedAt = Date.now();
    this.#intervalMs += firstIntervalMs;
    console.log(line);
  }

  #clear(): void {
    if (this.#isShown) process.stdout.write('\r\u001B[2K');
    this.#isShown = false;
  }
}
