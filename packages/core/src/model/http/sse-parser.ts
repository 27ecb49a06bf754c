export interface ServerSentEvent {
  /** Value of the `event` field, or an empty string. */
  readonly event: string;
  readonly data: string;
}

/**
 * Incremental parser of `text/event-stream` (WHATWG HTML, section 9.2.6). It takes time linear in
 * the length of the input, even for small pieces: an incomplete line is not read before its end
 * arrives.
 */
export class SseParser {
  readonly #decoder = new TextDecoder();
  /** Start of a line whose end has not arrived. */
  #partial = '';
  /**
   * Whether the last piece ended in a carriage return. A line feed at the start of the next piece
   * then belongs to the same line break.
   */
  #isAfterReturn = false;
  #event = '';
  #data: string | undefined;

  /** Characters of the incomplete event. */
  get bufferedLength(): number {
    return this.#partial.length + (this.#data?.length ?? 0);
  }

  /** Returns the events that these bytes complete. */
  push(bytes: Uint8Array): readonly ServerSentEvent[] {
    return this.#readText(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * Returns the incomplete last event, as far as it arrived. The specification drops such an event,
   * but some servers omit the last blank line.
   */
  end(): ServerSentEvent | undefined {
    return this.#readText(`${this.#decoder.decode()}\n\n\n`)[0];
  }

  #readText(text: string): readonly ServerSentEvent[] {
    if (!text) return [];
    this.#partial += this.#isAfterReturn ? text.replace(/^\n/, '') : text;
    this.#isAfterReturn = text.endsWith('\r');
    if (!/[\r\n]/.test(text)) return [];
    const events: ServerSentEvent[] = [];
    // A split by a fixed separator is several times faster, and almost all servers send only line
    // feeds.
    const lines = this.#partial.split(text.includes('\r') ? /\r\n?|\n/ : '\n');
    this.#partial = lines.pop()!;
    for (const line of lines) {
      if (line) this.#readField(line);
      else {
        if (this.#data !== undefined) events.push({ event: this.#event, data: this.#data });
        this.#event = '';
        this.#data = undefined;
      }
    }
    return events;
  }

  /** Reads a field of the current event. Ignores fields other than `data` and `event`. */
  #readField(line: string): void {
    if (/^data(:|$)/.test(line)) {
      const value = valueIn(line, 'data');
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (/^event(:|$)/.test(line)) this.#event = valueIn(line, 'event');
  }
}

/** Returns the value of a field, without the blank that may follow the colon. */
function valueIn(line: string, name: string): string {
  const start = name.length + 1;
  return line.slice(line[start] === ' ' ? start + 1 : start);
}
