import type { OptionTable } from '../../error/options/option-table.ts';
import { boolean, optional } from '../../error/options/kinds.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { parseJson, type JsonValue } from '../../message/json.ts';

/** Object or list that is not closed, with its finished values. */
interface OpenValue {
  readonly value: Record<string, JsonValue> | JsonValue[];
  /** Number of finished values. */
  size: number;
  /** Name of the field whose value is being read. */
  name: string;
}

/** What a JSON text may have next, outside of a string, a number or a word. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma' | 'nothing';

const space = /[ \t\n\r]+/y;
/** Part of a string without escapes. */
// oxlint-disable-next-line no-control-regex -- JSON forbids control characters in strings
const plain = /[^"\\\u0000-\u001f]+/y;
const escape = /\\(?:u[\da-fA-F]{4}|["\\/bfnrt])/y;
const startOfEscape = /\\(?:u[\da-fA-F]{0,3})?$/y;
/** Characters of a number or a word. */
const scalar = /[-+.\w]+/y;
const words = ['true', 'false', 'null'];
const startOfNumber = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/i;

/** Longest number that appears before it is complete, in characters. */
const maxShownNumber = 64;

/**
 * Number of values that may be copied for each character. So the cost of a text grows with its
 * length only, also for long lists.
 */
const copiesPerCharacter = 64;

/** What the value of a text that has not ended shows. */
export interface JsonReaderOptions {
  /**
   * Whether a number or a word appears before it is complete: `1` of `150`, and `true` of `t`.
   * Default: false.
   */
  readonly showsIncomplete?: boolean;
}

const jsonReaderOptions: OptionTable<JsonReaderOptions> = { showsIncomplete: optional(boolean) };

/**
 * Reads a JSON text that arrives in pieces, and has its value so far. Each character is read once.
 * A string has its characters so far. By default, a number, `true`, `false` and `null` appear when
 * they are complete, and a field appears with the beginning of its value. So a later value only
 * extends an earlier one.
 */
export class JsonReader {
  /** `broken`: the text is no JSON. The value stays as it was before. */
  state: 'open' | 'complete' | 'broken' = 'open';
  readonly #openValues: OpenValue[] = [];
  #next: Expected = 'value';
  /** Characters of the string, the number or the word that is being read. */
  #token: string | undefined;
  /** Last characters of the string that is being read. */
  #lastCharacters = '';
  #isString = false;
  /** Beginning of an escape whose end is in the next piece. */
  #escapeStart = '';
  #root: JsonValue | undefined;
  #lastValue: JsonValue | undefined;
  #isChanged = false;
  /** Number of characters since `value` was last made. */
  #unseenLength = 0;
  readonly #showsIncomplete: boolean;

  constructor(options: JsonReaderOptions = {}) {
    checkOptions('JsonReader', options, jsonReaderOptions);
    this.#showsIncomplete = options.showsIncomplete ?? false;
  }

  /** Reads the next piece of the text. Ignores what follows the value. */
  push(piece: string): void {
    this.#unseenLength += piece.length;
    const text = this.#escapeStart + piece;
    this.#escapeStart = '';
    let at = 0;
    while (at < text.length && this.state === 'open') at = this.#read(text, at);
  }

  /**
   * The value so far, or `undefined`. Is replaced at each change, but finished objects and lists in
   * it stay the same. Copies the objects and lists that are not closed: see `isCheap`.
   */
  get value(): JsonValue | undefined {
    if (!this.#isChanged) return this.#lastValue;
    this.#isChanged = false;
    this.#unseenLength = 0;
    const token = this.#isString ? this.#stringSoFar : this.#scalarSoFar;
    // An incomplete `null` is a value.
    let value = token === undefined ? this.#root : token;
    for (const { value: parent, name } of this.#openValues.toReversed()) {
      if (Array.isArray(parent)) value = value === undefined ? [...parent] : [...parent, value];
      else value = value === undefined ? { ...parent } : { ...parent, [name]: value };
    }
    this.#lastValue = value;
    return value;
  }

  /**
   * Whether enough characters came since the last `value` for the copies that the next one makes.
   * The work stays linear if `value` is read only then.
   */
  get isCheap(): boolean {
    const copies = this.#openValues.reduce((sum, { size }) => sum + size, 0);
    return copies <= this.#unseenLength * copiesPerCharacter;
  }

  /** The string so far. A half of a character is left out. */
  get #stringSoFar(): string | undefined {
    if (this.#next.startsWith('name')) return undefined;
    // A look at the end of a long text that was joined from pieces would copy the text.
    return /[\ud800-\udbff]$/.test(this.#lastCharacters) ? this.#token?.slice(0, -1) : this.#token;
  }

  /** The number or word so far, if it is shown. */
  get #scalarSoFar(): JsonValue | undefined {
    const token = this.#token;
    if (!this.#showsIncomplete || !token || token.length > maxShownNumber) return undefined;
    const text = words.find((word) => word.startsWith(token)) ?? startOfNumber.exec(token)?.[0];
    return text === undefined ? undefined : parseJson(text);
  }

  /** Reads from a position of the text. Returns the position after what was read. */
  #read(text: string, at: number): number {
    if (this.#token !== undefined)
      return this.#isString ? this.#readString(text, at) : this.#readScalar(text, at);
    const gap = matchAt(space, text, at);
    if (gap) return at + gap.length;
    this.#take(text[at]!);
    // A number or a word begins with this character.
    return this.#token !== undefined && !this.#isString ? at : at + 1;
  }

  #readString(text: string, at: number): number {
    const match = matchAt(plain, text, at) || matchAt(escape, text, at);
    if (match) {
      this.#lastCharacters = match.startsWith('\\') ? (JSON.parse(`"${match}"`) as string) : match;
      this.#token += this.#lastCharacters;
      this.#isChanged ||= !this.#next.startsWith('name');
      return at + match.length;
    }
    this.#escapeStart = matchAt(startOfEscape, text, at);
    if (this.#escapeStart) return text.length;
    if (text[at] === '"') this.#endString();
    else this.state = 'broken';
    return at + 1;
  }

  #endString(): void {
    const token = this.#token!;
    this.#token = undefined;
    if (!this.#next.startsWith('name')) return this.#add(token);
    this.#openValues.at(-1)!.name = token;
    this.#next = 'colon';
  }

  #readScalar(text: string, at: number): number {
    const match = matchAt(scalar, text, at);
    this.#token += match;
    const token = this.#token!;
    // Only the character after a number shows its end.
    if (at + match.length < text.length || words.includes(token)) this.#endScalar(token);
    else this.#isChanged ||= this.#showsIncomplete;
    return at + match.length;
  }

  #endScalar(token: string): void {
    this.#token = undefined;
    try {
      this.#add(JSON.parse(token) as JsonValue);
    } catch {
      this.state = 'broken';
    }
  }

  /** Takes a character outside of strings, numbers and words. */
  #take(char: string): void {
    const next = this.#next;
    const isList = Array.isArray(this.#openValues.at(-1)?.value);
    if (next.startsWith('value') && /["{[\-\dtfn]/.test(char)) this.#beginValue(char);
    else if (next.startsWith('name') && char === '"') this.#begin(true);
    else if (next === 'colon' && char === ':') this.#next = 'value';
    else if (next === 'comma' && char === ',') this.#next = isList ? 'value' : 'name';
    else if (/comma|or end/.test(next) && char === (isList ? ']' : '}'))
      this.#add(this.#openValues.pop()!.value);
    else this.state = 'broken';
  }

  #beginValue(char: string): void {
    if (char === '{') this.#enter({}, 'name or end');
    else if (char === '[') this.#enter([], 'value or end');
    else this.#begin(char === '"');
  }

  #begin(isString: boolean): void {
    this.#token = '';
    this.#lastCharacters = '';
    this.#isString = isString;
    this.#isChanged ||= isString && this.#next.startsWith('value');
  }

  #enter(value: OpenValue['value'], next: Expected): void {
    this.#openValues.push({ value, size: 0, name: '' });
    this.#next = next;
    this.#isChanged = true;
  }

  /** Adds a finished value to its object or list. */
  #add(value: JsonValue): void {
    const parent = this.#openValues.at(-1);
    this.#isChanged = true;
    this.#next = 'comma';
    if (!parent) {
      this.#root = value;
      this.state = 'complete';
      return;
    }
    parent.size += 1;
    if (Array.isArray(parent.value)) parent.value.push(value);
    // An assignment to `__proto__` would add no field.
    else Object.defineProperty(parent.value, parent.name, { value, ...field });
  }
}

const field = { configurable: true, enumerable: true, writable: true };

/** Returns what a sticky pattern matches at a position of the text, or an empty text. */
function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}
