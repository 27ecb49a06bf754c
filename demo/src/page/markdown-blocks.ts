import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';

const parser = unified().use(remarkParse).use(remarkGfm);

/** Number of last blocks that later text may change: a lone `#` is a heading, and `#1` is text. */
const openCount = 2;

/** Length up to which the open end is parsed at each update, in characters. */
const shortLength = 1_000;

/**
 * A longer open end is parsed again when it has grown by this share, so that the work is linear.
 */
const growthShare = 1 / 4;

/** The blocks of a text, and whether the end of the text is not among them yet. */
export interface MarkdownView {
  readonly blocks: readonly string[];
  readonly isStale: boolean;
}

interface ClosedBlock {
  readonly source: string;
  /** The source with the definitions that it refers to. */
  readonly block: string;
}

/**
 * Splits a growing Markdown text into its blocks, such as paragraphs, lists and code. Parses only
 * the end of the text, so that the work grows with its length only. Other blocks stay the same.
 */
export class MarkdownBlocks {
  #text = '';
  /** Blocks that no later text changes. */
  #closed: ClosedBlock[] = [];
  #closedLength = 0;
  #open: readonly string[] = [];
  /** Length of the text in the blocks. */
  #shownLength = 0;
  /** Addresses and footnotes by their names. References to them are in any block. */
  #definitions: Map<string, string> = new Map();

  /**
   * Returns the blocks of a text. `isWhole`: whether to show all of it, because it stands still.
   */
  split(text: string, isWhole: boolean): MarkdownView {
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    const openLength = text.length - this.#closedLength;
    const addedLength = text.length - this.#shownLength;
    const isDue = isWhole || openLength < shortLength || addedLength > openLength * growthShare;
    if (isDue && addedLength > 0) this.#parseEnd(text);
    const closed = this.#closed.map(({ block }) => block);
    return { blocks: [...closed, ...this.#open], isStale: this.#shownLength < text.length };
  }

  #parseEnd(text: string): void {
    const end = text.slice(this.#closedLength);
    const { children } = parser.parse(end);
    const starts = children.map(({ position }) => position!.start.offset!);
    // The first block also has the spaces before it.
    const sources = starts.map((start, at) => end.slice(at ? start : 0, starts[at + 1]));
    const knownCount = this.#definitions.size;
    for (const [at, node] of children.slice(0, -openCount).entries()) {
      const source = sources[at]!;
      if ('identifier' in node) this.#definitions.set(node.identifier, source);
      this.#closed.push(this.#closedBlock(source));
      this.#closedLength += source.length;
    }
    if (this.#definitions.size > knownCount)
      this.#closed = this.#closed.map(({ source }) => this.#closedBlock(source));
    this.#open = sources.slice(-openCount).map((source) => this.#withDefinitions(source));
    this.#shownLength = text.length;
  }

  /** Returns a block with the definitions that it refers to. */
  #withDefinitions(source: string): string {
    if (!this.#definitions.size || !source.includes('[')) return source;
    const text = source.toLowerCase();
    const used = [...this.#definitions]
      .filter(([name, each]) => each !== source && text.includes(`${name}]`))
      .map(([, each]) => each);
    return [source, ...used].join('\n\n');
  }

  #closedBlock(source: string): ClosedBlock {
    return { source, block: this.#withDefinitions(source) };
  }

  #reset(): void {
    this.#closed = [];
    this.#closedLength = 0;
    this.#open = [];
    this.#shownLength = 0;
    this.#definitions = new Map();
  }
}
