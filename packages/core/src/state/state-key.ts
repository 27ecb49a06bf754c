import { isRecord } from '../message/is-record.ts';
import type { JsonValue } from '../message/json.ts';

/** One value of a session and how updates change it. A strategy of your own is such an object. */
export interface StateKey<Value, Update> {
  /** What is read before anything was written. */
  readonly initial: Value;
  /** Whether a saved value can be this key's. */
  is(value: JsonValue): boolean;
  /** The value after an update; must not change what it is given. */
  reduce(value: Value, update: Update): Value;
}

/** The last update stands (Spring AI Alibaba: `REPLACE`). */
export function replace<T>(initial: T): StateKey<T, T>;
export function replace<T>(): StateKey<T | undefined, T>;
export function replace<T>(initial?: T): StateKey<T | undefined, T> {
  return { initial, is: () => true, reduce: (_value, update) => update };
}

/** A list that grows by an update, or by all of several (Spring AI Alibaba: `APPEND`). */
export function append<T>(initial: readonly T[] = []): StateKey<readonly T[], T | readonly T[]> {
  return {
    initial,
    is: (value) => Array.isArray(value),
    reduce: (value, update) => [...value, ...([update].flat() as T[])],
  };
}

/** An object whose fields updates set, one by one (Spring AI Alibaba: `MERGE`). */
export function merge<T extends object>(initial: T): StateKey<T, Partial<T>>;
export function merge<T extends object>(): StateKey<Partial<T>, Partial<T>>;
export function merge<T extends object>(
  initial: Partial<T> = {},
): StateKey<Partial<T>, Partial<T>> {
  return {
    initial,
    is: (value) => isRecord(value) && !Array.isArray(value),
    reduce: (value, update) => ({ ...value, ...update }),
  };
}
