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
    : T extends { toJSON(...given: never[]): infer J }
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

type Code = (...given: never[]) => unknown;

type JsonKey<K, V> = K extends symbol ? never : V extends Code ? never : K;

/** Items without a value become `null`. */
type JsonItem<T> = T extends undefined ? null : JsonOf<T>;
