import type { OutputRule } from './output-rule.ts';
import { findingsOf, throwRejected, type Report } from './run-rule.ts';

/** Characters before the window that a rule sees again, for what it looks back at. */
const behind = 64;

/**
 * One rule on a text that is being written: holds back its last `lookahead` characters, gives out
 * what stands before them.
 */
export class RuleWindow {
  readonly #rule: OutputRule;
  readonly #lookahead: number;
  readonly #report: Report;
  /** What was given out already, and is only looked at; then what is held. */
  #buffer = '';
  #held = 0;
  /**
   * Characters the buffer needs before it is searched again, so that a text is searched a bounded
   * number of times.
   */
  #searchAt = 0;

  constructor(rule: OutputRule, lookahead: number, report: Report) {
    this.#rule = rule;
    this.#lookahead = lookahead;
    this.#report = report;
  }

  /**
   * What may be given out. `isEnd`: all of what is held; what comes after it is looked at with this
   * text before it.
   */
  push(text: string, isEnd: boolean): string {
    this.#buffer += text;
    const buffer = this.#buffer;
    if (!isEnd && buffer.length < this.#searchAt) return '';
    let cut = isEnd ? buffer.length : Math.max(this.#held, buffer.length - this.#lookahead);
    // Half of a pair is not given out alone.
    if (!isEnd && cut > this.#held && /[\ud800-\udbff]/.test(buffer[cut - 1]!)) cut -= 1;
    let from = this.#held;
    let grows = false;
    const pieces: string[] = [];
    for (const finding of findingsOf(this.#rule, buffer, this.#report)) {
      if (finding.start < from) continue;
      if (finding.start >= cut && !(isEnd && finding.start === cut)) break;
      if (!isEnd && finding.end >= buffer.length) {
        // It may go on in what comes.
        cut = finding.start;
        grows = true;
        break;
      }
      throwRejected(this.#rule, finding);
      pieces.push(
        buffer.slice(from, finding.start),
        'replacement' in finding ? finding.replacement : '',
      );
      from = finding.end;
      cut = Math.max(cut, from);
    }
    pieces.push(buffer.slice(from, cut));
    const start = Math.max(0, cut - behind);
    this.#buffer = buffer.slice(start);
    this.#held = cut - start;
    const step = Math.max(1, this.#lookahead >> 2);
    this.#searchAt = grows ? this.#buffer.length * 2 : this.#held + this.#lookahead + step;
    return pieces.join('');
  }
}
