/** Receives the text between think tags, and the tags. */
export interface TagReader {
  /** Returns whether a tag counts after the text so far. If not, it is text. */
  accepts(tag: string): boolean;
  /** Adds a piece of text or of thinking, which may be empty. */
  add(text: string): void;
  open(): void;
  close(): void;
}

const openingTag = '<think>';

/** The tag at the end of thinking. */
export const closingTag = '</think>';

/** Finds think tags in a text that arrives in pieces. A tag may be split over several pieces. */
export class ThinkTags {
  readonly #reader: TagReader;
  /** Withheld text that may be the beginning of a tag. */
  #rest = '';

  constructor(reader: TagReader) {
    this.#reader = reader;
  }

  push(chunk: string): void {
    const text = this.#rest + chunk;
    this.#rest = '';
    let start = 0;
    for (let index = text.indexOf('<'); index >= 0; index = text.indexOf('<', index + 1)) {
      this.#reader.add(text.slice(start, index));
      start = index;
      const rest = text.slice(index, index + closingTag.length);
      const tag = [openingTag, closingTag].find(
        (one) => (one.startsWith(rest) || rest.startsWith(one)) && this.#reader.accepts(one),
      );
      if (!tag) continue;
      if (rest.length < tag.length) {
        this.#rest = rest;
        return;
      }
      if (tag === openingTag) this.#reader.open();
      else this.#reader.close();
      start += tag.length;
    }
    this.#reader.add(text.slice(start));
  }

  /** Ends the text. The beginning of a tag is text. */
  end(): void {
    this.#reader.add(this.#rest);
    this.#rest = '';
  }
}
