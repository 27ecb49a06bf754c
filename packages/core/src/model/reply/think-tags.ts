/** Receives the text between think tags, and the tags. */
export interface TagReader {
  /** Returns whether a tag counts after the text so far. If not, it is text. */
  accepts(tag: string): boolean;
  /** Adds a piece of text or of thinking, which may be empty. */
  add(text: string): void;
  open(tag: string): void;
  close(): void;
}

/** The usual tag at the end of thinking. */
export const closingTag = '</think>';

/**
 * The tags of models that write their thinking into the text. Seed-OSS:
 * https://github.com/open-webui/open-webui/issues/16856. Mistral:
 * https://github.com/waybarrios/vllm-mlx/pull/599. Gemini and GLM:
 * https://github.com/earendil-works/pi/pull/303.
 */
export const allTags: readonly string[] = [
  '<think>',
  '<thinking>',
  '<seed:think>',
  '[THINK]',
].flatMap((tag) => [tag, endTagOf(tag)]);

const longestTag = '</seed:think>'.length;

/** Returns the end tag of a start tag. */
export function endTagOf(tag: string): string {
  return `${tag[0]}/${tag.slice(1)}`;
}

/** Finds think tags in a text that arrives in pieces. A tag may be split over several pieces. */
export class ThinkTags {
  readonly #reader: TagReader;
  readonly #tags: readonly string[];
  /** Withheld text that may be the beginning of a tag. */
  #rest = '';

  constructor(reader: TagReader, tags: readonly string[] = ['<think>', closingTag]) {
    this.#reader = reader;
    this.#tags = tags;
  }

  push(chunk: string): void {
    const text = this.#rest + chunk;
    this.#rest = '';
    let start = 0;
    for (const { index } of text.matchAll(/[<[]/g)) {
      this.#reader.add(text.slice(start, index));
      start = index;
      const rest = text.slice(index, index + longestTag);
      const tag = this.#tags.find(
        (one) => (one.startsWith(rest) || rest.startsWith(one)) && this.#reader.accepts(one),
      );
      if (!tag) continue;
      if (rest.length < tag.length) {
        this.#rest = rest;
        return;
      }
      if (tag[1] === '/') this.#reader.close();
      else this.#reader.open(tag);
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
