import type { TextCall } from './parsed-reply.ts';
import { callsIn, readJson } from './text-calls.ts';

/**
 * Result of a scan. `rest`: words at the end of the text that were held back and are not a call.
 * `problem`: why a call in it cannot be made.
 */
export interface Scan {
  readonly rest: string;
  readonly calls: readonly TextCall[];
  readonly problem: string | undefined;
}

const keys: readonly string[] = ['tool_name', 'arguments', 'think'];
const deepest = 200;

/**
 * Reads a text piece by piece, each character once. Returns words, and holds back text that may be
 * a tool call: JSON objects and lists of them. The fence and white space before them are held back
 * too. Words after the first call are not returned.
 */
export class CallScanner {
  readonly #calls: TextCall[] = [];
  #problem: string | undefined;
  #state: 'words' | 'fence' | 'json' | 'bare' | 'over' = 'words';
  #out = '';
  /** Held-back white space and the opening of a fence. */
  #held = '';
  /** Words after a call. */
  #tail = '';
  /** The open fence. */
  #fence: 'json' | 'code' | undefined;
  #ticks = 0;
  #info = '';
  #infoEnded = false;
  #json = '';
  #depth = 0;
  /** Depth of a call's keys. */
  #level = 1;
  /** The last character of the JSON's structure. */
  #last = '';
  #inString = false;
  #escaped = false;
  /** The key that the scanner is reading. */
  #key: string | undefined;
  /** Whether the JSON has a key of a call. */
  #isLikely = false;
  /** A key without double quotes. */
  #bare = '';

  /** Whether the last character is in a string of a possible call. */
  get inString(): boolean {
    return this.#state === 'json' && this.#inString;
  }

  /** Takes more of the text and returns the words in it. */
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

  /** Reads on and returns the next index. */
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

  /** Returns false if another state must read the character again. */
  #takesFence(c: string): boolean {
    if (c === '`' && !this.#info && !this.#infoEnded) this.#ticks += 1;
    else if (this.#ticks < 3) return this.#giveUp();
    else if (this.#fence) {
      this.#fence = undefined;
      return this.#giveUp();
    } else if (/\s/.test(c) && (!this.#info || isJsonFence(this.#info)))
      this.#infoEnded ||= this.#info !== '';
    else if ((c === '{' || c === '[') && (!this.#info || isJsonFence(this.#info))) {
      this.#fence = 'json';
      this.#beginJson(c);
      return true;
    } else if (
      !this.#infoEnded &&
      fences.some((name) => name.startsWith(`${this.#info}${c}`.toLowerCase()))
    )
      this.#info += c;
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
    const isFit =
      this.#last === '{' ? c === '"' || c === '}' : this.#last === '[' ? this.#fitsList(c) : true;
    if (!isFit || this.#depth > deepest || !/["\]{}[:,\d.eE+\-truefalsn]/.test(c)) {
      if (this.#isLikely)
        this.#fail(`there is an unexpected ${JSON.stringify(c)} after ${this.#lastWords()}`);
      else if (this.#last === '{' && this.#depth === this.#level) {
        this.#state = 'bare';
        this.#bare = '';
      } else return this.#giveUp();
      return false;
    }
    this.#json += c;
    if (c === '"') {
      this.#inString = true;
      this.#key = this.#depth === this.#level && /[{,]/.test(this.#last) ? '' : undefined;
    } else this.#last = c;
    if (c === '{' || c === '[') this.#depth += 1;
    if (c === '}' || c === ']') this.#depth -= 1;
    if (!this.#depth) this.#endJson();
    // If the first item of a list is not a call, the list holds no calls.
    else if (this.#level === 2 && this.#depth === 1 && !this.#isLikely && c === '}') this.#giveUp();
    return true;
  }

  /** Returns whether a list of calls may continue with the character: its items must be objects. */
  #fitsList(c: string): boolean {
    return this.#depth > 1 || c === '{';
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

  /** Reads the keys of `{tool_name: …` and `{'tool_name': …`, as other languages write them. */
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

  /** Treats the held-back text as words, because it is not a call. */
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
   * Returns whether the model made up results after its calls. The calls that follow are made up
   * too.
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
