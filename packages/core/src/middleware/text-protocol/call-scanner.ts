import type { TextCall } from './parsed-reply.ts';
import { isObject, parseJson, type JsonValue } from '../../message/json.ts';

/**
 * Result of a scan. `rest`: text at the end that was withheld but is not a tool call. `calls`: the
 * tool calls in the text. `problem`: why a tool call in the text is invalid.
 */
export interface Scan {
  readonly rest: string;
  readonly calls: readonly TextCall[];
  readonly problem: string | undefined;
}

const keys: readonly string[] = ['tool_name', 'arguments', 'think'];
const deepest = 200;

/**
 * Reads a text piece by piece, each character once, and separates tool calls from words. A tool
 * call is a JSON object or a list of JSON objects. The scanner withholds text that may be a tool
 * call, including a code fence and white space before it. It does not return words after the first
 * tool call.
 */
export class CallScanner {
  readonly #calls: TextCall[] = [];
  #problem: string | undefined;
  #state: 'words' | 'fence' | 'json' | 'bare' | 'over' = 'words';
  #out = '';
  /** White space and the opening of a code fence that are withheld. */
  #held = '';
  /** Words after a tool call. */
  #tail = '';
  /** Kind of the open code fence. */
  #fence: 'json' | 'code' | undefined;
  #ticks = 0;
  #info = '';
  #infoEnded = false;
  #json = '';
  #depth = 0;
  /** Nesting depth of a tool call's keys: 2 in a list, otherwise 1. */
  #level = 1;
  /** Last character of the JSON outside strings and white space. */
  #last = '';
  #inString = false;
  #escaped = false;
  /** Key that the scanner is reading. */
  #key: string | undefined;
  /** Whether the JSON has one of the keys of a tool call. */
  #isLikely = false;
  /** Key without double quotes. */
  #bare = '';

  /** Whether the last character is in a string of a possible tool call. */
  get inString(): boolean {
    return this.#state === 'json' && this.#inString;
  }

  /** Reads more of the text and returns the words that are certainly not part of a tool call. */
  push(text: string): string {
    this.#out = '';
    for (let index = 0; index < text.length;) index = this.#step(text, index);
    return this.#out;
  }

  end(): Scan {
    this.#out = '';
    const isCut = this.#key && keys.some((key) => key.startsWith(this.#key!));
    if (this.#state === 'json' && (this.#isLikely || isCut))
      this.#fail(`it does not end; its last words are ${this.#lastWords()}`);
    else this.#giveUp();
    return { rest: this.#out, calls: this.#calls, problem: this.#problem };
  }

  /** Reads one or more characters from the index and returns the index after them. */
  #step(text: string, index: number): number {
    if (this.#state === 'over') return text.length;
    if (this.#state === 'words') return this.#words(text, index);
    const c = text[index]!;
    if (this.#state === 'json') {
      if (this.#inString) return this.#string(text, index);
      if (this.#takesJson(c)) return index + 1;
    } else if (this.#state === 'fence' ? this.#takesFence(c) : this.#takesBare(c)) return index + 1;
    return index;
  }

  #words(text: string, index: number): number {
    const special = this.#fence === 'code' ? /`/g : /[`{[]/g;
    special.lastIndex = index;
    const end = special.exec(text)?.index ?? text.length;
    if (end > index) {
      const said = text.slice(index, end);
      const words = said.trimEnd();
      if (words) this.#say(words);
      this.#held += said.slice(words.length);
      return end;
    }
    if (text[index] === '`') {
      this.#state = 'fence';
      this.#ticks = 0;
      this.#info = '';
      this.#infoEnded = false;
      return index;
    }
    this.#beginJson(text[index]!);
    return index + 1;
  }

  /**
   * Reads a character of a code fence's beginning. Returns false if another state must read the
   * character again.
   */
  #takesFence(c: string): boolean {
    if (c === '`' && !this.#info && !this.#infoEnded) {
      this.#ticks += 1;
      this.#held += c;
      return true;
    }
    if (this.#ticks < 3) return this.#giveUp();
    if (!this.#fence) return this.#takesInfo(c);
    this.#fence = undefined;
    return this.#giveUp();
  }

  /** Reads a character of the word after a code fence's beginning, or the one after that word. */
  #takesInfo(c: string): boolean {
    const mayHoldJson = !this.#info || isJsonFence(this.#info);
    if (mayHoldJson && (c === '{' || c === '[')) {
      this.#fence = 'json';
      this.#beginJson(c);
      return true;
    }
    const info = this.#info + c;
    if (mayHoldJson && /\s/.test(c)) this.#infoEnded ||= this.#info !== '';
    else if (!this.#infoEnded && fences.some((name) => name.startsWith(info.toLowerCase())))
      this.#info = info;
    else {
      this.#fence = 'code';
      return this.#giveUp();
    }
    this.#held += c;
    return true;
  }

  #beginJson(c: string): void {
    this.#state = 'json';
    this.#json = c;
    this.#depth = 1;
    this.#level = c === '[' ? 2 : 1;
    this.#last = c;
    this.#inString = this.#escaped = this.#isLikely = false;
    this.#key = undefined;
  }

  #takesJson(c: string): boolean {
    if (/\s/.test(c)) {
      this.#json += c;
      return true;
    }
    if (!this.#isFit(c)) return this.#refuseJson(c);
    this.#json += c;
    if (c === '"') {
      this.#inString = true;
      this.#key = this.#depth === this.#level && /[{,]/.test(this.#last) ? '' : undefined;
    } else this.#last = c;
    if (c === '{' || c === '[') this.#depth += 1;
    if (c === '}' || c === ']') this.#depth -= 1;
    if (!this.#depth) this.#endJson();
    // If the first item of a list is not a tool call, no item of the list is one.
    else if (this.#level === 2 && this.#depth === 1 && !this.#isLikely && c === '}') this.#giveUp();
    return true;
  }

  /** Returns whether the character may come next. The items of a list of tool calls are objects. */
  #isFit(c: string): boolean {
    if (this.#depth > deepest || !/["\]{}[:,\d.eE+\-truefalsn]/.test(c)) return false;
    if (this.#last === '{') return c === '"' || c === '}';
    return this.#last !== '[' || this.#depth > 1 || c === '{';
  }

  #refuseJson(c: string): false {
    if (this.#isLikely)
      this.#fail(`there is an unexpected ${JSON.stringify(c)} after ${this.#lastWords()}`);
    else if (this.#last === '{' && this.#depth === this.#level) {
      this.#state = 'bare';
      this.#bare = '';
    } else this.#giveUp();
    return false;
  }

  #string(text: string, index: number): number {
    const special = /["\\]/g;
    special.lastIndex = index;
    const end = this.#escaped ? index : (special.exec(text)?.index ?? text.length - 1);
    const piece = text.slice(index, end + 1);
    const c = text[end]!;
    this.#json += piece;
    if (this.#escaped) this.#escaped = false;
    else if (c === '\\') this.#escaped = true;
    else if (c === '"') {
      this.#inString = false;
      this.#last = c;
      if (this.#key !== undefined) this.#isLikely ||= keys.includes(this.#key + piece.slice(0, -1));
      this.#key = undefined;
    }
    if (this.#key !== undefined && this.#key.length < 16) this.#key += piece;
    return end + 1;
  }

  #endJson(): void {
    const value = readJson(this.#json);
    const found = value === undefined ? undefined : callsIn(value);
    if (found && 'calls' in found && !this.#isMadeUp()) {
      this.#calls.push(...found.calls);
      this.#json = this.#held = this.#tail = '';
      this.#state = 'words';
    } else if (found) this.#refuse('problem' in found ? found.problem : undefined);
    else if (value === undefined && this.#isLikely)
      this.#fail(`it is not JSON; it ends with ${this.#lastWords()}`);
    else this.#giveUp();
  }

  /**
   * Reads a key without double quotes, as in `{tool_name: …` or `{'tool_name': …`. Returns false if
   * another state must read the character again.
   */
  #takesBare(c: string): boolean {
    const read = this.#bare + c;
    const name = read.replace(/^['‘“`]/, '');
    const known = keys.find((key) => name.startsWith(key));
    if (
      known
        ? read.length < 32 && /^['’”`]?\s*:?$/.test(name.slice(known.length))
        : keys.some((key) => key.startsWith(name))
    ) {
      this.#bare = read;
      if (c === ':')
        this.#fail(`${read.slice(0, -1).trim()} and all other keys and strings need double quotes`);
      return true;
    }
    return this.#giveUp();
  }

  /** Treats the withheld text as words, because it is not a tool call. */
  #giveUp(): false {
    const held = this.#json + this.#bare;
    this.#state = 'words';
    this.#json = this.#bare = '';
    this.#key = undefined;
    this.#say(held);
    return false;
  }

  #say(words: string): void {
    if (this.#calls.length) this.#tail += this.#held + words;
    else this.#out += this.#held + words;
    this.#held = '';
  }

  #fail(what: string): void {
    this.#refuse(`The JSON of a tool call cannot be read: ${what}.`);
  }

  #refuse(problem: string | undefined): void {
    if (!this.#isMadeUp()) this.#problem = problem;
    this.#state = 'over';
  }

  /**
   * Returns whether the model wrote a tool result itself after its tool calls. Later tool calls
   * depend on the invented result, so they are ignored.
   */
  #isMadeUp(): boolean {
    return /Tool \[[^\]]{0,80}\] execution result/.test(this.#tail);
  }

  #lastWords(): string {
    return JSON.stringify(this.#json.slice(-40));
  }
}

const fences: readonly string[] = ['json', 'tool_call', 'tool_calls'];

function isJsonFence(info: string): boolean {
  return fences.includes(info.toLowerCase());
}

type FoundCalls = { readonly calls: readonly TextCall[] } | { readonly problem: string };

/**
 * Finds the tool calls of a JSON value, which is an object with `tool_name` or a list of such
 * objects. Returns `undefined` if no object has `tool_name`.
 */
export function callsIn(value: JsonValue): FoundCalls | undefined {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  if (!items.some((item) => isObject(item) && 'tool_name' in item)) return undefined;
  const calls: TextCall[] = [];
  for (const [index, item] of items.entries()) {
    const call = toCall(item);
    if (typeof call === 'string')
      return { problem: items.length > 1 ? `Item ${index + 1} of the list: ${call}` : call };
    calls.push(call);
  }
  return { calls };
}

/**
 * Parses JSON that a model wrote. Accepts unescaped line breaks and tabs in strings, because models
 * often write them.
 */
export function readJson(text: string): JsonValue | undefined {
  const escaped = (string: string): string => string.replace(/[\n\r\t]/g, (c) => escapes[c]!);
  return parseJson(text) ?? parseJson(text.replace(/"(?:[^"\\]|\\[^])*"/g, escaped));
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns the tool call, or a text that says what is wrong. */
function toCall(item: JsonValue): TextCall | string {
  if (!isObject(item) || !('tool_name' in item)) return 'it is not an object with "tool_name".';
  const { tool_name: name, arguments: given, think, trust_mode: trust } = item;
  if (typeof name !== 'string' || !name.trim()) return '"tool_name" is not the name of a tool.';
  if (given === undefined)
    return `"arguments" is missing in the call of "${name}": give an object, or {} if there are none.`;
  const args = typeof given === 'string' ? readJson(given) : given;
  if (!isObject(args))
    return `"arguments" in the call of "${name}" is ${kindOf(given)}, not an object.`;
  return {
    name: name.trim(),
    arguments: args,
    ...(typeof think === 'string' && think.trim() && { think }),
    ...((trust === 1 || trust === true) && { returnDirect: true }),
  };
}

function kindOf(value: JsonValue): string {
  if (typeof value === 'string') return 'a string that holds no JSON object';
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
