/** Type for code that builds a value which is read-only afterwards. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
