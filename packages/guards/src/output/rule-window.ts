import { replacementOf, type CheckedRule } from './checked-rule.ts';

/** Number of released characters that a rule sees again, for lookbehind in its pattern. */
const lookbehindLength = 64;

/**
 * Applies one rule to a streamed text. Withholds the last `lookahead` characters and releases the
 * text before them.
 */
export class RuleWindow {
  readonly #rule: CheckedRule;
  readonly #lookahead: number;
  /** Released text that the rule sees again, followed by the withheld text. */
  #buffer = '';
  #withheldAt = 0;
  /**
   * Length of the buffer at which the rule searches next. Waiting for this length bounds how often
   * the same text is searched.
   */
  #searchAt = 0;

  constructor(rule: CheckedRule, lookahead: number) {
    this.#rule = rule;
    this.#lookahead = lookahead;
  }

  /**
   * Adds text and returns the text that may be released. `isEnd` releases all withheld text.
   * Text that is added later is still checked together with the end of this text.
   */
  push(text: string, isEnd: boolean): string {
    this.#buffer += text;
    const buffer = this.#buffer;
    if (!isEnd && buffer.length < this.#searchAt) return '';
    let releaseEnd = isEnd ? buffer.length : this.#withheldFrom(buffer);
    let from = this.#withheldAt;
    let mayGrow = false;
    const pieces: string[] = [];
    for (const finding of this.#rule.find?.(buffer) ?? []) {
      if (finding.start < from) continue;
      if (finding.start >= releaseEnd && !(isEnd && finding.start === releaseEnd)) break;
      if (!isEnd && finding.end >= buffer.length) {
        // The match may become longer with the next piece of text.
        releaseEnd = finding.start;
        mayGrow = true;
        break;
      }
      pieces.push(buffer.slice(from, finding.start), replacementOf(this.#rule, finding));
      from = finding.end;
      releaseEnd = Math.max(releaseEnd, from);
    }
    pieces.push(buffer.slice(from, releaseEnd));
    const start = Math.max(0, releaseEnd - lookbehindLength);
    this.#buffer = buffer.slice(start);
    this.#withheldAt = releaseEnd - start;
    const withheldLength = this.#buffer.length - this.#withheldAt;
    const step = mayGrow ? this.#buffer.length : Math.max(1, withheldLength >> 2);
    this.#searchAt = this.#buffer.length + step;
    return pieces.join('');
  }

  #withheldFrom(buffer: string): number {
    const from = this.#rule.withheldFrom(buffer, this.#lookahead);
    if (from <= this.#withheldAt) return this.#withheldAt;
    // The end must not separate the two halves of a surrogate pair.
    return /[\ud800-\udbff]/.test(buffer[from - 1]!) ? from - 1 : from;
  }
}
