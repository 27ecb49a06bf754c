/** Minimum time between two status lines if there is no terminal, in milliseconds. */
const plainIntervalMs = 15_000;

/**
 * Shows the progress of the running step. A terminal gets one line that changes, other outputs get
 * a new line every 15 seconds.
 */
export class StatusLine {
  #live = '';
  #printedAt = Date.now();

  /** Starts a step. Without a terminal, its first line appears after 15 seconds. */
  begin(): void {
    this.#printedAt = Date.now();
  }

  show(text: string): void {
    if (process.stdout.isTTY) {
      this.#live = text.slice(0, process.stdout.columns - 1);
      process.stdout.write(`\r\u001B[2K${this.#live}`);
      return;
    }
    if (Date.now() - this.#printedAt < plainIntervalMs) return;
    this.#printedAt = Date.now();
    console.log(text);
  }

  /** Prints text that stays, above the status line. */
  print(text: string): void {
    const live = this.#live;
    this.clear();
    process.stdout.write(text);
    if (live !== '' && text.endsWith('\n')) this.show(live);
  }

  clear(): void {
    if (this.#live !== '') process.stdout.write('\r\u001B[2K');
    this.#live = '';
  }
}
