import { isError, errorText, invalidInput } from '../error/agent-error.ts';

/** Any value that JSON can hold. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
/** An object that JSON can hold. */
export type JsonObject = { readonly [key: string]: JsonValue };

/**
 * Type of a value after it became JSON. A `Date` becomes a string, for example, and methods are
 * left out.
 */
export type JsonOf<T> = unknown extends T
  ? JsonValue
  : T extends JsonValue | undefined
    ? T
    : T extends { toJSON(...args: never[]): infer J }
      ? JsonOf<J>
      : T extends bigint | symbol | Code
        ? never
        : T extends Error
          ? { readonly name: string; readonly message: string; readonly cause?: JsonValue }
          : T extends ReadonlyMap<unknown, infer V>
            ? { readonly [name: string]: JsonOf<V> }
            : T extends ReadonlySet<infer V>
              ? readonly JsonItem<V>[]
              : T extends ArrayBufferView
                ? readonly number[]
                : T extends readonly unknown[]
                  ? { readonly [I in keyof T]: JsonItem<T[I]> }
                  : object extends T
                    ? JsonValue
                    : { readonly [K in keyof T as JsonKey<K, T[K]>]: JsonOf<T[K]> };

type Code = (...args: never[]) => unknown;

type JsonKey<K, V> = K extends symbol ? never : V extends Code ? never : K;

/** Items without a value become `null`. */
type JsonItem<T> = T extends undefined ? null : JsonOf<T>;

/** Returns whether a value is an object. Also true for arrays. */
export function isObjectOrArray(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Returns whether a value is an object and no array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObjectOrArray(value) && !Array.isArray(value);
}

/**
 * Returns whether an object is plain, so not an instance such as a `Date` or `Map`. Works across
 * realms.
 */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Parses a text as JSON. Returns `undefined` if it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Returns whether a text is a whole JSON object, and not only the start of one. */
export function isWholeObject(text: string): boolean {
  return text.endsWith('}') && parseJson(text) !== undefined;
}

/**
 * Returns a copy of a value, converted to JSON and back. Returns `undefined` if JSON cannot
 * represent the value. Leaves out fields if `isLeftOut` returns true for their name, at any depth.
 */
export function jsonCopy(
  value: unknown,
  isLeftOut: (name: string) => boolean = () => false,
): JsonValue | undefined {
  try {
    const keep = (name: string, item: unknown): unknown => (isLeftOut(name) ? undefined : item);
    return JSON.parse(JSON.stringify(value, keep)) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Returns whether two values have the same JSON, with fields in the same order. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Returns a copy of a value as plain JSON. Returns `undefined` for `undefined`. Also converts maps,
 * sets, typed arrays, errors and `NaN`. Throws `INVALID_INPUT` for any other value without a JSON
 * form, such as a function, a cycle, or an object without readable fields. `what`: name of the
 * whole value in the error.
 */
export function jsonForm(value: unknown, what: string): JsonValue | undefined {
  if (value === undefined) return undefined;
  try {
    const text = JSON.stringify(value, jsonLike) as string | undefined;
    if (text === undefined) throw new Error(`it is a ${typeof value}`);
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw invalidInput(`${what} has no JSON form: ${errorText(cause)}. Use plain JSON.`, { cause });
  }
}

/** Returns the array, plain object or primitive that represents a value in JSON. */
function jsonLike(key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (isError(value)) {
    const { name, message, cause } = value;
    return { ...value, name, message, cause };
  }
  // Works across realms, in contrast to `instanceof`.
  const kind = Object.prototype.toString.call(value);
  if (kind === '[object Map]')
    return Object.fromEntries(value as Iterable<readonly [string, unknown]>);
  if (kind === '[object Set]' || ArrayBuffer.isView(value))
    return [...(value as Iterable<unknown>)];
  if (isPlain(value) || Object.keys(value).length) return value;
  throw new Error(`the object "${key}" (${value.constructor?.name}) has no fields`);
}

/** An object whose fields are left out if they are `undefined`. */
export type DefinedFields<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the fields that are not `undefined`. */
export function omitUndefined<T extends object>(fields: T = {} as T): DefinedFields<T> {
  return pickFields(fields, (_key, value) => value !== undefined) as DefinedFields<T>;
}

/** Returns a copy with only some fields: those that `isPicked` accepts. */
export function pickFields(
  fields: object,
  isPicked: (key: string, value: unknown) => boolean,
): object {
  return Object.fromEntries(Object.entries(fields).filter(([key, value]) => isPicked(key, value)));
}

/** Returns JSON text in which the keys of each object are sorted. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/** Returns a value without half a surrogate pair in its texts, as `jsonText` does. */
export function wellFormed<T>(value: T): T {
  const isWellFormed = !JSON.stringify(value).includes('\\ud');
  return isWellFormed ? value : (JSON.parse(jsonText(value)) as T);
}

/**
 * Returns the JSON text of a value without half a surrogate pair, such as half an emoji of a text
 * that was cut. Strict JSON parsers refuse a request that has one.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes('\\ud')) return text;
  // `JSON.stringify` escapes only unpaired surrogates. An escaped backslash may stand before "ud…".
  return text.replace(/\\(?:ud[89a-f]..|.)/g, (escape) =>
    escape.startsWith('\\ud') ? '\ufffd' : escape,
  );
}
