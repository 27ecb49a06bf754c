import { array } from '../error/options/kinds.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { misconfigured, invalidInput } from '../error/agent-error.ts';
import { isRecord, type JsonValue } from '../message/json.ts';

/** Start of the names of the values that the library itself keeps in a session. */
export const ownPrefix = 'isoloop:';

/**
 * One value of a session, and the strategy by which updates change it. For a custom strategy, write
 * an object of this type.
 */
export interface StateKey<Value, Update> {
  /** The value before the first write. */
  readonly initial: Value;
  /** Whether a saved value is valid for this key. */
  is(value: JsonValue): boolean;
  /** Returns the value after an update. Must not change its arguments. */
  reduce(value: Value, update: Update): Value;
}

/** Creates a state key whose updates replace the value. Source: Spring AI Alibaba, `REPLACE`. */
export function replaceKey<T>(initial: T): StateKey<T, T>;
export function replaceKey<T>(): StateKey<T | undefined, T>;
export function replaceKey<T>(initial?: T): StateKey<T | undefined, T> {
  return { initial, is: () => true, reduce: (_value, update) => update };
}

/**
 * Creates a state key for a list. An update adds one item or an array of items. Source: Spring AI
 * Alibaba, `APPEND`.
 */
export function appendKey<T>(initial: readonly T[] = []): StateKey<readonly T[], T | readonly T[]> {
  checkFields('appendKey()', { initial }, { initial: array });
  return {
    initial,
    is: (value) => Array.isArray(value),
    reduce: (value, update) => [...value, ...([update].flat() as T[])],
  };
}

/**
 * Creates a state key for an object. An update sets some of its fields. An update that is not an
 * object is refused. Throws `CONFIGURATION` if `initial` is not an object. Source: Spring AI
 * Alibaba, `MERGE`.
 */
export function mergeKey<T extends object>(initial: T): StateKey<T, Partial<T>>;
export function mergeKey<T extends object>(): StateKey<Partial<T>, Partial<T>>;
export function mergeKey<T extends object>(
  initial: Partial<T> = {},
): StateKey<Partial<T>, Partial<T>> {
  if (!isRecord(initial)) throw misconfigured('mergeKey(): initial must be an object.');
  return {
    initial,
    is: isRecord,
    reduce(value, update) {
      if (isRecord(update)) return { ...value, ...update };
      throw invalidInput('mergeKey() takes an object with fields.');
    },
  };
}
