/** Minimum time between status lines without a terminal. Milliseconds. */
const plainIntervalMs = 15_000;

/** Shows the running step: a live line on a terminal, otherwise a line every 15 seconds. */
export class StatusLine {
  #live = '';
  #printedAt = Date.now();

  /** Starts a step. Its first plain line comes after an interval. */
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

  /** Prints permanent text above the live line. */
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
