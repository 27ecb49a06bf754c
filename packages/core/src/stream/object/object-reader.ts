import { isRecord } from '../../message/json/is-record.ts';
import { JsonReader } from '../../message/json/json-reader.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { isSameJson } from '../../message/json/parse-json.ts';
import { wrappedName } from '../../message/output-tool.ts';
import { messageIdOf } from '../text-stream.ts';

/**
 * Beginning of a JSON object or list in a text. A bracket in prose, such as in `[see below]`, does
 * not match.
 */
const startOfJson = /\{\s*["}]|\[\s*(?:["{[\]]|-?\d|true|false|null)/;

/** Bracket at the end of a text, with which JSON may begin. */
const openEnd = /[[{]\s*(?:-|[a-z]{1,4})?$/;

/**
 * Number of values that may be copied for each character. So the cost of a reply grows with its
 * length only, also for long lists.
 */
const copiesPerCharacter = 64;

/**
 * Reads the object of a structured answer while it arrives, from the text of a reply or from the
 * arguments of the output tool. Each character is read once.
 */
export class ObjectReader {
  /** The object so far, as of the last `update()`. */
  value: JsonValue | undefined;
  /** Where the object comes from: the text of a message, or a call. */
  #source: string | undefined;
  #json: JsonReader | undefined;
  /** End of the text so far, with which JSON may begin. */
  #before = '';
  /** Number of characters since the last `update()`. */
  #unseen = 0;
  /** Whether the value is no longer valid. */
  #isReset = false;

  /** Whether the object in the reply has its end. */
  get isComplete(): boolean {
    return this.#json?.state === 'complete';
  }

  /** Discards what was read, because the reply with it is not the answer. */
  reset(): void {
    this.#readFrom(undefined);
    this.#isReset = true;
  }

  /**
   * Reads the next piece of the text of a block. Text and code fences around the JSON are ignored.
   */
  text(blockId: string, delta: string): void {
    this.#readFrom(`text ${messageIdOf(blockId)}`);
    if (this.#json) return this.#push(delta);
    const text = this.#before + delta;
    const at = text.search(startOfJson);
    this.#before = at < 0 ? (openEnd.exec(text.slice(-maxOpenEnd))?.[0] ?? '') : '';
    if (at >= 0) this.#push(text.slice(at));
  }

  /** Reads the next piece of the arguments of a call of the output tool. */
  input(toolUseId: string, delta: string): void {
    this.#readFrom(`call ${toolUseId}`);
    this.#push(delta);
  }

  /** Whether this call is being read. */
  isReading(toolUseId: string): boolean {
    return this.#source === `call ${toolUseId}`;
  }

  /**
   * Brings `value` up to date. Returns whether it has changed. While many values would be copied,
   * the change is left to a later update. `isLast`: there is no later update.
   */
  update(isLast = false): boolean {
    const width = this.#json?.width ?? 0;
    if (!isLast && !this.#isReset && this.#unseen * copiesPerCharacter < width) return false;
    this.#unseen = 0;
    const next = this.#read() ?? (this.#isReset ? undefined : this.value);
    this.#isReset = false;
    const isSame = next === this.value || (this.isComplete && isSameJson(next, this.value));
    if (!isSame) this.value = next;
    return !isSame;
  }

  #readFrom(source: string | undefined): void {
    if (source !== undefined && source === this.#source) return;
    this.#source = source;
    this.#json = undefined;
    this.#before = '';
  }

  #push(piece: string): void {
    this.#json ??= new JsonReader();
    this.#json.push(piece);
    this.#unseen += piece.length;
  }

  /** Returns the value in the source. The first name shows whether it is wrapped. */
  #read(): JsonValue | undefined {
    const value = this.#json?.value;
    if (this.#source?.startsWith('text ')) return value;
    if (!isRecord(value)) return undefined;
    const [name] = Object.keys(value);
    if (name === wrappedName) return value[wrappedName] as JsonValue;
    return name === undefined && !this.isComplete ? undefined : (value as JsonValue);
  }
}

/** Longest beginning of JSON that is kept, in characters. JSON rarely begins with so many spaces. */
const maxOpenEnd = 200;
