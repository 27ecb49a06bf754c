export interface ServerSentEvent {
  /** The `event` field; empty where there was none. */
  readonly event: string;
  readonly data: string;
}

/**
 * An incremental parser of `text/event-stream` (WHATWG HTML, section 9.2.6). Its work is linear in
 * the input, however small the pieces: an unfinished line is looked at again only when its end has
 * come.
 */
export class SseParser {
  readonly #decoder = new TextDecoder();
  /** The line that has no end yet. */
  #partial = '';
  /** The last piece ended in CR: a line feed at the start of the next belongs to it. */
  #afterReturn = false;
  #event = '';
  #data: string | undefined;

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): readonly ServerSentEvent[] {
    return this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * What the input broke off in, as far as it goes. The specification drops it; some servers leave
   * out the last blank line.
   */
  end(): ServerSentEvent | undefined {
    return this.#take(`${this.#decoder.decode()}\n\n\n`)[0];
  }

  #take(text: string): readonly ServerSentEvent[] {
    if (!text) return [];
    this.#partial += this.#afterReturn ? text.replace(/^\n/, '') : text;
    this.#afterReturn = text.endsWith('\r');
    if (!/[\r\n]/.test(text)) return [];
    const events: ServerSentEvent[] = [];
    // A fixed separator is found several times as fast, and hardly a server sends anything else.
    const lines = this.#partial.split(text.includes('\r') ? /\r\n|\n|\r/ : '\n');
    this.#partial = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith('data:') || line === 'data') {
        this.#data =
          (this.#data === undefined ? '' : `${this.#data}\n`) + line.slice(line[5] === ' ' ? 6 : 5);
      } else if (line.startsWith('event:') || line === 'event')
        this.#event = line.slice(line[6] === ' ' ? 7 : 6);
      else if (!line) {
        if (this.#data !== undefined) events.push({ event: this.#event, data: this.#data });
        this.#event = '';
        this.#data = undefined;
      }
    }
    return events;
  }
}
