/** For what builds a value that nobody may change afterwards. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
