/** Minimum time between the status lines of a step without a terminal. Milliseconds. */
const plainIntervalMs = 15_000;

/** Shows the running steps: in one live line on a terminal, otherwise each in a line every 15 seconds. */
export class StatusLine {
  readonly #texts = new Map<string, string>();
  readonly #printedAt = new Map<string, number>();

  /** Starts to show a step. */
  begin(step: string): void {
    this.#printedAt.set(step, Date.now());
    this.show(step, '');
  }

  show(step: string, text: string): void {
    this.#texts.set(step, text);
    if (process.stdout.isTTY) return this.#draw();
    if (Date.now() - this.#printedAt.get(step)! < plainIntervalMs) return;
    this.#printedAt.set(step, Date.now());
    console.log(`        ${step}: ${text}`);
  }

  /** Shows a step no longer. */
  end(step: string): void {
    this.#texts.delete(step);
    this.#draw();
  }

  /** Prints text that stays, above the live line. */
  print(text: string): void {
    if (process.stdout.isTTY) process.stdout.write('\r\u001B[2K');
    process.stdout.write(text);
    if (text.endsWith('\n')) this.#draw();
  }

  #draw(): void {
    if (!process.stdout.isTTY) return;
    const line = [...this.#texts].map(([step, text]) => (text === '' ? step : `${step}: ${text}`)).join(' · ');
    process.stdout.write(`\r\u001B[2K${line.slice(0, process.stdout.columns - 1)}`);
  }
}
