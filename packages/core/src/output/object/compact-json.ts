import { wrappedName } from '../../schema/output-format.ts';

/**
 * Takes one JSON object or list out of a text that arrives in pieces, without insignificant spaces.
 * Does not check the JSON.
 */
export class CompactJson {
  /** Whether the object or list is closed. What follows is ignored. */
  isComplete = false;
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  /** Beginning of arguments that wrap a value. Empty if the text is known to have no wrapper. */
  #wrapper: string;
  /** Text that may be the beginning of a wrapper. */
  #beginning = '';
  #isWrapped = false;

  /** `isCall`: the text is the arguments of the output tool, which may wrap the value. */
  constructor(isCall: boolean) {
    this.#wrapper = isCall ? `{"${wrappedName}":` : '';
  }

  /** Whether the value may end with the last character. */
  get mayEnd(): boolean {
    return !this.#isString && this.#depth <= Number(this.#isWrapped);
  }

  /** Returns the next piece of the object or list. */
  push(piece: string): string {
    let text = this.#beginning;
    for (const char of piece) if (!this.isComplete && this.#takes(char)) text += char;
    const wrapper = this.#wrapper;
    const mayBeWrapper = text !== wrapper && wrapper.startsWith(text);
    this.#beginning = mayBeWrapper ? text : '';
    if (mayBeWrapper) return '';
    this.#wrapper = '';
    if (wrapper && text.startsWith(wrapper)) {
      this.#isWrapped = true;
      text = text.slice(wrapper.length);
    }
    return this.#isWrapped && this.isComplete ? text.slice(0, -1) : text;
  }

  #takes(char: string): boolean {
    if (!this.#isString && /\s/.test(char)) return false;
    if (char === '"' && !this.#isEscaped) this.#isString = !this.#isString;
    this.#isEscaped = char === '\\' && !this.#isEscaped;
    if (this.#isString) return true;
    if (/[[{]/.test(char)) this.#depth += 1;
    if (/[\]}]/.test(char)) this.#depth -= 1;
    this.isComplete = this.#depth === 0;
    return true;
  }
}
