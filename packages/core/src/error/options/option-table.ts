/**
 * A kind of value: what `checkFields()` and `checkOptions()` test, and the words for it. `T`: type
 * of the values that the kind accepts at least. So the compiler refuses a kind that is too narrow
 * for an option.
 */
export interface Kind<in T = never> {
  /** What a value must be, for errors. Example: `a string`. */
  readonly words: string;
  /** Returns whether a value is of this kind. Gets values of any type. */
  readonly test: (value: T) => boolean;
}

/**
 * The kind of each option of `T`. A missing option, an unknown one, and a kind that refuses a value
 * of the option's type do not compile. An option that may be left out needs `optional()`.
 */
export type OptionTable<T> = { readonly [K in keyof T]-?: Kind<T[K]> };

/** The kinds of some fields of `T`: those that `checkFields()` tests. */
export type FieldTable<T = Readonly<Record<string, never>>> = {
  readonly [K in keyof T]?: Kind<T[K]>;
};

/**
 * Names that other libraries use for the options of `T`, by what takes their place. That is an
 * option, a part of one such as `limits.iterations`, or code such as `use: [retry()]`.
 */
export type OtherNames<T> = Readonly<Partial<Record<Replacement<T>, readonly string[]>>>;

type Replacement<T> = keyof T | `${keyof T & string}${'.' | ':'}${string}` | `${string}(${string}`;

/** All fields of the types of a union, for its table. A field that one type lacks is optional. */
export type AllFields<T> = { readonly [K in KeysOf<T>]: FieldOf<T, K> };

/** The types of a union whose field `K` may be `V`. */
export type WithField<T, K extends string, V> = T extends { readonly [P in K]: infer X }
  ? V extends X
    ? T
    : never
  : never;

type KeysOf<T> = T extends unknown ? keyof T : never;
type FieldOf<T, K> = T extends unknown ? (K extends keyof T ? T[K] : undefined) : never;
