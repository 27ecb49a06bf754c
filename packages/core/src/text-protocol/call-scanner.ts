import type { TextCall } from './parsed-reply.ts';
import { parseArguments } from '../message/call-arguments.ts';
import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';

/**
 * Result of a scan. `rest`: text at the end that was withheld but is not a tool call. `calls`: the
 * tool calls in the text. `problem`: why a tool call in the text is invalid.
 */
interface Scan {
  readonly rest: string;
  readonly calls: readonly TextCall[];
  readonly problem: string | undefined;
}

const keys: readonly string[] = ['tool_name', 'arguments', 'think'];
/** A code fence before a tool call. */
const callFence = /^`{3,}\s*(?:(?:json|tool_calls?)\s*)?$/i;
const fenceNames: readonly string[] = ['json', 'tool_calls'];
/** Longest code fence before a tool call, in characters. */
const maxFenceLength = 100;
const maxDepth = 200;

/**
 * Reads a text piece by piece, each character once, and separates tool calls from prose. A tool
 * call is a JSON object or a list of JSON objects. The scanner withholds text that may be a tool
 * call, including a code fence and white space before it. It does not return prose after the first
 * tool call.
 */
export class CallScanner {
  readonly #calls: TextCall[] = [];
  #problem: string | undefined;
  #state: 'prose' | 'fence' | 'json' | 'over' = 'prose';
  #out = '';
  /** White space that is withheld. */
  #space = '';
  /** Code fence that is withheld. */
  #fence = '';
  /** Kind of the open code fence. */
  #openFence: 'json' | 'code' | undefined;
  /** JSON that is withheld. */
  #json = '';
  /** Prose after a tool call. */
  #tail = '';
  #depth = 0;
  /** Nesting depth of a tool call's keys: 2 in a list, otherwise 1. */
  #keyDepth = 1;
  /** Last character of the JSON outside strings and white space. */
  #last = '';
  #isInString = false;
  #isEscaped = false;
  /** Key that the scanner is reading. */
  #key: string | undefined;
  /** Whether the JSON has one of the keys of a tool call. */
  #isLikely = false;

  /** Whether the last character is in a string of a possible tool call. */
  get isInString(): boolean {
    return this.#state === 'json' && this.#isInString;
  }

  /** Reads more of the text and returns the prose that is certainly not part of a tool call. */
  push(text: string): string {
    this.#out = '';
    for (let index = 0; index < text.length;) index = this.#step(text, index);
    return this.#out;
  }

  end(): Scan {
    this.#out = '';
    const isBegun = this.#key && keys.some((key) => key.startsWith(this.#key!));
    if (this.#state === 'json' && (this.#isLikely || isBegun))
      this.#fail(`it does not end; its last words are ${this.#lastWords()}`);
    else this.#giveUp();
    return { rest: this.#out, calls: this.#calls, problem: this.#problem };
  }

  /** Reads one or more characters from the index and returns the index after them. */
  #step(text: string, index: number): number {
    if (this.#state === 'over') return text.length;
    if (this.#state === 'prose') return this.#readProse(text, index);
    if (this.isInString) return this.#readString(text, index);
    const c = text[index]!;
    const isTaken = this.#state === 'fence' ? this.#takesFence(c) : this.#takesJson(c);
    return isTaken ? index + 1 : index;
  }

  #readProse(text: string, index: number): number {
    const special = this.#openFence === 'code' ? /`/g : /[`{[]/g;
    special.lastIndex = index;
    const end = special.exec(text)?.index ?? text.length;
    if (end > index) {
      const passage = text.slice(index, end);
      const prose = passage.trimEnd();
      if (prose) this.#say(prose);
      this.#space += passage.slice(prose.length);
    } else if (text[index] === '`') this.#state = 'fence';
    else {
      this.#beginJson(text[index]!);
      return index + 1;
    }
    return end;
  }

  /**
   * Reads a character of a code fence's beginning. Returns false if another state must read the
   * character again.
   */
  #takesFence(c: string): boolean {
    const fence = this.#fence + c;
    if (!/[^`]/.test(fence)) return this.#withholdFence(fence);
    if (!fence.startsWith('```')) return this.#giveUp();
    if (this.#openFence) {
      this.#openFence = undefined;
      return this.#giveUp();
    }
    if (/[{[]/.test(c) && callFence.test(this.#fence)) {
      this.#openFence = 'json';
      this.#beginJson(c);
      return true;
    }
    const name = fence.replace(/^`+\s*/, '').toLowerCase();
    if (callFence.test(fence) || fenceNames.some((fenceName) => fenceName.startsWith(name)))
      return this.#withholdFence(fence);
    this.#openFence = 'code';
    return this.#giveUp();
  }

  #withholdFence(fence: string): boolean {
    if (fence.length > maxFenceLength) return this.#giveUp();
    this.#fence = fence;
    return true;
  }

  #beginJson(c: string): void {
    this.#state = 'json';
    this.#json = c;
    this.#depth = 1;
    this.#keyDepth = c === '[' ? 2 : 1;
    this.#last = c;
    this.#isInString = this.#isEscaped = this.#isLikely = false;
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
      this.#isInString = true;
      this.#key = this.#depth === this.#keyDepth && /[{,]/.test(this.#last) ? '' : undefined;
    } else this.#last = c;
    if ('{['.includes(c)) this.#depth += 1;
    if ('}]'.includes(c)) this.#depth -= 1;
    if (!this.#depth) this.#endJson();
    // If the first item of a list is not a tool call, no item of the list is one.
    else if (this.#depth < this.#keyDepth && !this.#isLikely) this.#giveUp();
    return true;
  }

  /** Returns whether the character may come next. The items of a list of tool calls are objects. */
  #isFit(c: string): boolean {
    if (this.#depth > maxDepth) return false;
    if (!/["\]{}[:,\d.eE+\-truefalsn]/.test(c)) return false;
    if (this.#last === '{') return c === '"' || c === '}';
    return this.#last !== '[' || this.#depth > 1 || c === '{';
  }

  #refuseJson(c: string): false {
    if (!this.#isLikely) return this.#giveUp();
    this.#fail(`there is an unexpected ${JSON.stringify(c)} after ${this.#lastWords()}`);
    return false;
  }

  #readString(text: string, index: number): number {
    const special = /["\\]/g;
    special.lastIndex = index;
    const end = this.#isEscaped ? index : (special.exec(text)?.index ?? text.length - 1);
    const piece = text.slice(index, end + 1);
    const c = text[end]!;
    this.#json += piece;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (c === '\\') this.#isEscaped = true;
    else if (c === '"') {
      this.#isInString = false;
      this.#last = c;
      if (this.#key !== undefined) this.#isLikely ||= keys.includes(this.#key + piece.slice(0, -1));
      this.#key = undefined;
    }
    if (this.#key !== undefined && this.#key.length < 16) this.#key += piece;
    return end + 1;
  }

  #endJson(): void {
    const value = readJson(this.#json);
    const calls = value === undefined ? undefined : callsIn(value);
    if (typeof calls === 'string') this.#refuse(calls);
    else if (calls && this.#isMadeUp()) this.#state = 'over';
    else if (calls) {
      this.#calls.push(...calls);
      this.#space = this.#fence = this.#json = this.#tail = '';
      this.#state = 'prose';
    } else if (value === undefined && this.#isLikely)
      this.#fail(`it is not JSON; it ends with ${this.#lastWords()}`);
    else this.#giveUp();
  }

  /** Treats the withheld text as prose, because it is not a tool call. */
  #giveUp(): false {
    const prose = this.#fence + this.#json;
    this.#state = 'prose';
    this.#fence = this.#json = '';
    this.#say(prose);
    return false;
  }

  #say(prose: string): void {
    if (this.#calls.length) this.#tail += this.#space + prose;
    else this.#out += this.#space + prose;
    this.#space = '';
  }

  #fail(what: string): void {
    this.#refuse(`The JSON of a tool call cannot be read: ${what}.`);
  }

  #refuse(problem: string): void {
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

/**
 * Returns the tool calls of an object with `tool_name`, or of a list of such objects. A text says
 * what is wrong with them. Returns `undefined` for any other value.
 */
function callsIn(value: JsonValue): readonly TextCall[] | string | undefined {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  if (!items.some(isCall)) return undefined;
  const calls = items.map(toCall);
  const invalidIndex = calls.findIndex((call) => typeof call === 'string');
  if (invalidIndex < 0) return calls as TextCall[];
  const problem = String(calls[invalidIndex]);
  return items.length > 1 ? `Item ${invalidIndex + 1} of the list: ${problem}` : problem;
}

function isCall(item: JsonValue): item is JsonObject {
  return isRecord(item) && 'tool_name' in item;
}

/** Returns the tool call, or a text that says what is wrong. */
function toCall(item: JsonValue): TextCall | string {
  if (!isCall(item)) return 'it is not an object with "tool_name".';
  const { tool_name: name, arguments: rawArgs, think, trust_mode: trust } = item;
  if (typeof name !== 'string' || !name.trim()) return '"tool_name" is not the name of a tool.';
  const args = typeof rawArgs === 'string' ? readJson(rawArgs) : rawArgs;
  if (!isRecord(args))
    return `"arguments" in the call of "${name}" must be an object, or {} if there are none.`;
  return {
    name: name.trim(),
    arguments: args,
    ...(typeof think === 'string' && think.trim() && { think }),
    ...((trust === 1 || trust === true) && { returnDirect: true }),
  };
}

/**
 * Parses JSON that a model wrote. Accepts unescaped line breaks and tabs in strings, because models
 * often write them.
 */
function readJson(text: string): JsonValue | undefined {
  const escapeWhitespace = (string: string): string =>
    string.replace(/[\n\r\t]/g, (c) => JSON.stringify(c).slice(1, -1));
  return (
    parseArguments(text) ?? parseArguments(text.replace(/"(?:[^"\\]|\\[^])*"/g, escapeWhitespace))
  );
}
