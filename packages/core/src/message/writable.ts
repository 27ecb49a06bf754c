/** The type `T` without `readonly`, for code that builds a value. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
