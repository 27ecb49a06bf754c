import type { ModelDelta } from './chat-model.ts';

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

/**
 * Turns the text between `<think>` and `</think>` at the start of a reply into thinking. Thinking
 * without an end tag continues to the end of the reply. Some templates write the start tag into the
 * prompt, so the reply has only the end tag. A `reset` then discards the text before it, and the
 * text becomes thinking. Later tags are text. Drops white space before thinking and text.
 */
export class ThinkSplitter implements TagReader {
  readonly #tags: ThinkTags = new ThinkTags(this);
  #isThinking = false;
  /** Whether later tags are text. */
  #isOver = false;
  /** Whether the current thinking or text has a word. */
  #hasWord = false;
  /** Text before a possible end tag. */
  #text = '';
  #id = '';
  #out: ModelDelta[] = [];

  /** Reads a delta, and adds the deltas to send now to `out`. */
  take(delta: ModelDelta, out: ModelDelta[]): void {
    this.#out = out;
    if (delta.type === 'text' && !(this.#isOver && this.#hasWord)) {
      this.#id = delta.id;
      this.#tags.push(delta.delta);
      return;
    }
    // A server that sends a tool call or thinking by itself writes no tags.
    if (delta.type !== 'text') this.end(out);
    out.push(delta);
  }

  /** Ends the text, and adds the withheld rest of it to `out`. */
  end(out: ModelDelta[]): void {
    this.#out = out;
    this.#tags.end();
    this.#isOver = this.#hasWord = true;
    this.#isThinking = false;
  }

  accepts(tag: string): boolean {
    if (this.#isOver) return false;
    return tag === closingTag || !(this.#isThinking || this.#hasWord);
  }

  add(text: string): void {
    const delta = this.#hasWord ? text : text.trimStart();
    if (!delta) return;
    this.#hasWord = true;
    if (this.#isThinking) {
      this.#think(delta);
      return;
    }
    if (!this.#isOver) this.#text += delta;
    this.#out.push({ type: 'text', id: this.#id, delta });
  }

  open(): void {
    this.#isThinking = true;
  }

  close(): void {
    if (this.#text) {
      this.#out.push({ type: 'reset', reason: 'protocol' });
      this.#think(this.#text);
    }
    this.#isThinking = this.#hasWord = false;
    this.#isOver = true;
  }

  #think(delta: string): void {
    this.#out.push({ type: 'thinking', id: 'thought', delta });
  }
}
