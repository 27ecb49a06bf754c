import { isObjectOrArray, isSameJson, type JsonValue } from '../../message/json.ts';
import { JsonReader } from './json-reader.ts';
import { wrappedName } from '../../schema/output-format.ts';
import { AnswerSource } from '../../middleware/output/answer-source.ts';

/**
 * Number of values that may be copied for each character. So the cost of a reply grows with its
 * length only, also for long lists.
 */
const copiesPerCharacter = 64;

/** Reads the object of a structured answer while it arrives. Each character is read once. */
export class ObjectReader extends AnswerSource {
  /** The object so far, as of the last `update()`. */
  value: JsonValue | undefined;
  #json: JsonReader | undefined;
  /** Number of characters since the last `update()`. */
  #unseenLength = 0;

  /** Whether the object in the reply has its end. */
  get isComplete(): boolean {
    return this.#json?.state === 'complete';
  }

  /** Reads the next piece of a text that has nothing but the object. */
  json(piece: string): void {
    this.readFrom('json');
    this.push(piece);
  }

  /**
   * Brings `value` up to date. Returns whether it has changed. While many values would be copied,
   * the change is left to a later update. `isLast`: there is no later update.
   */
  update(isLast = false): boolean {
    const width = this.#json?.width ?? 0;
    if (!isLast && !this.isReset && this.#unseenLength * copiesPerCharacter < width) return false;
    this.#unseenLength = 0;
    const next = this.#read() ?? (this.isReset ? undefined : this.value);
    this.isReset = false;
    const isSame = next === this.value || (this.isComplete && isSameJson(next, this.value));
    if (!isSame) this.value = next;
    return !isSame;
  }

  protected begin(): void {
    this.#json = undefined;
  }

  protected push(piece: string): void {
    this.#json ??= new JsonReader();
    this.#json.push(piece);
    this.#unseenLength += piece.length;
  }

  /** Returns the value in the source. The first name shows whether it is wrapped. */
  #read(): JsonValue | undefined {
    const value = this.#json?.value;
    if (!this.isCall) return value;
    if (!isObjectOrArray(value)) return undefined;
    const [name] = Object.keys(value);
    if (name === wrappedName) return value[wrappedName] as JsonValue;
    return name === undefined && !this.isComplete ? undefined : (value as JsonValue);
  }
}
