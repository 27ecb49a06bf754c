export interface ServerSentEvent {
  /** The `event` field; empty where there was none. */
  readonly event: string;
  readonly data: string;
}

const lineFeed = 10;
const space = 32;

/**
 * An incremental parser of `text/event-stream` (WHATWG HTML, section 9.2.6). Its work is linear in the input, however small the
 * pieces: only new text is scanned, and an unfinished line is joined to its end once.
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
    const events: ServerSentEvent[] = [];
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return events;
    let start = this.#afterReturn && text.charCodeAt(0) === lineFeed ? 1 : 0;
    this.#afterReturn = false;
    let feed = text.indexOf('\n', start);
    let carriage = text.indexOf('\r', start);
    while (feed >= 0 || carriage >= 0) {
      const isFeed = carriage < 0 || (feed >= 0 && feed < carriage);
      const end = isFeed ? feed : carriage;
      this.#endLine(text, start, end, events);
      start = end + 1;
      if (!isFeed) {
        if (start === text.length) this.#afterReturn = true;
        else if (start === feed) start++;
        carriage = text.indexOf('\r', start);
      }
      if (feed < start) feed = text.indexOf('\n', start);
    }
    if (start < text.length) this.#partial += text.slice(start);
    return events;
  }

  /** What the input broke off in, as far as it goes. The specification drops it; some servers leave out the last blank line. */
  end(): ServerSentEvent | undefined {
    const events: ServerSentEvent[] = [];
    const rest = this.#decoder.decode();
    this.#endLine(rest, 0, rest.length, events);
    this.#dispatch(events);
    return events[0];
  }

  #endLine(text: string, start: number, end: number, events: ServerSentEvent[]): void {
    if (this.#partial === '') return this.#field(text, start, end, events);
    const line = this.#partial + text.slice(start, end);
    this.#partial = '';
    this.#field(line, 0, line.length, events);
  }

  #field(text: string, start: number, end: number, events: ServerSentEvent[]): void {
    if (start === end) return this.#dispatch(events);
    if (text.startsWith('data:', start)) return this.#append(text.slice(text.charCodeAt(start + 5) === space ? start + 6 : start + 5, end));
    const line = text.slice(start, end);
    if (line === 'data') return this.#append('');
    if (line === 'event' || line.startsWith('event:')) this.#event = line.slice(line.charCodeAt(6) === space ? 7 : 6);
  }

  #append(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  #dispatch(events: ServerSentEvent[]): void {
    if (this.#data !== undefined) events.push({ event: this.#event, data: this.#data });
    this.#event = '';
    this.#data = undefined;
  }
}
