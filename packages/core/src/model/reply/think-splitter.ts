import type { ModelDelta } from '../chat-model.ts';
import { allTags, endTagOf, ThinkTags, type TagReader } from './think-tags.ts';

/**
 * Turns the text between `<think>` and `</think>` at the start of a reply into thinking. Thinking
 * without an end tag continues to the end of the reply. Some templates write the start tag into the
 * prompt, so the reply has only the end tag. A `reset` then discards the text before it, and the
 * text becomes thinking. Later tags are text. Drops white space before thinking and text. Drops the
 * thinking in the text if the server sends it also by itself, as MiniMax does
 * (https://github.com/can1357/oh-my-pi/pull/2434).
 */
export class ThinkSplitter implements TagReader {
  readonly #tags: ThinkTags = new ThinkTags(this, allTags);
  /** The tag that ends the current thinking. Outside thinking, it is empty. */
  #endTag = '';
  /** Whether the server sends thinking by itself. */
  #hasOwnThinking = false;
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
    if (delta.type === 'thinking') this.#hasOwnThinking = true;
    // A server that sends a tool call by itself writes no tags after it.
    else if (delta.type !== 'text') this.end(out);
    out.push(delta);
  }

  /** Ends the text, and adds the withheld rest of it to `out`. */
  end(out: ModelDelta[]): void {
    this.#out = out;
    this.#tags.end();
    this.#isOver = this.#hasWord = true;
    this.#endTag = '';
  }

  accepts(tag: string): boolean {
    if (this.#isOver) return false;
    if (tag[1] !== '/') return !(this.#endTag || this.#hasWord);
    return this.#endTag ? tag === this.#endTag : !this.#hasOwnThinking;
  }

  add(text: string): void {
    const delta = this.#hasWord ? text : text.trimStart();
    if (!delta) return;
    this.#hasWord = true;
    if (this.#endTag) {
      this.#think(delta);
      return;
    }
    if (!this.#isOver) this.#text += delta;
    this.#out.push({ type: 'text', id: this.#id, delta });
  }

  open(tag: string): void {
    this.#endTag = endTagOf(tag);
  }

  close(): void {
    if (this.#text) {
      this.#out.push({ type: 'reset', reason: 'protocol' });
      this.#think(this.#text);
    }
    this.#endTag = '';
    this.#hasWord = false;
    this.#isOver = true;
  }

  #think(delta: string): void {
    if (this.#hasOwnThinking) return;
    this.#out.push({ type: 'thinking', id: 'thought', delta });
  }
}
