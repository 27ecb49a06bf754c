import { isObjectOrArray, isSameJson, type JsonValue } from '../../message/json.ts';
import { JsonReader } from './json-reader.ts';
import { wrappedName } from '../../schema/output-format.ts';
import { AnswerSource } from '../../output/object/answer-source.ts';

/** Reads the object of a structured answer while it arrives. Each character is read once. */
export class ObjectReader {
  /** The object so far, as of the last `update()`. */
  value: JsonValue | undefined;
  #json = new JsonReader();
  /** Whether the JSON is the arguments of a call, which may wrap the object. */
  #isCall = false;
  /** Whether `value` is not the answer. */
  #isDiscarded = false;
  /** Takes events or text with the object. */
  readonly source: AnswerSource = new AnswerSource({
    begin: (isCall) => {
      this.#json = new JsonReader();
      this.#isCall = isCall;
    },
    push: (piece) => this.#json.push(piece),
    discard: () => (this.#isDiscarded = true),
  });

  /** Whether the object in the reply has its end. */
  get isComplete(): boolean {
    return this.#json.state === 'complete';
  }

  /**
   * Brings `value` up to date. Returns whether it has changed. While many values would be copied,
   * the change is left to a later update. `isLast`: there is no later update.
   */
  update(isLast = false): boolean {
    if (!isLast && !this.#isDiscarded && !this.#json.isCheap) return false;
    const next = this.#read() ?? (this.#isDiscarded ? undefined : this.value);
    this.#isDiscarded = false;
    const isSame = next === this.value || (this.isComplete && isSameJson(next, this.value));
    if (!isSame) this.value = next;
    return !isSame;
  }

  /** Returns the value in the source. The first name shows whether it is wrapped. */
  #read(): JsonValue | undefined {
    const { value } = this.#json;
    if (!this.#isCall) return value;
    if (!isObjectOrArray(value)) return undefined;
    const [name] = Object.keys(value);
    if (name === wrappedName) return value[wrappedName] as JsonValue;
    return name === undefined && !this.isComplete ? undefined : (value as JsonValue);
  }
}
