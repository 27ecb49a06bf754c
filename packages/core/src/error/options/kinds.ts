import type { Kind } from './option-table.ts';

type AnyFunction = (...args: never[]) => unknown;

/** Any value: an option that is checked elsewhere, or not at all. */
export const anything: Kind<unknown> = { words: 'anything', test: () => true };

/** A string, also an empty one. */
export const string: Kind<string> = { words: 'a string', test: isString };

/** A number, but not `NaN`. */
export const number: Kind<number> = {
  words: 'a number',
  test: (value) => isNumber(value, -Infinity),
};

/** A boolean. */
export const boolean: Kind<boolean> = {
  words: 'a boolean',
  test: (value) => typeof value === 'boolean',
};

/** A function. */
export const func: Kind<AnyFunction> = {
  words: 'a function',
  test: (value) => typeof value === 'function',
};

/** An object or an array, but no function. */
export const object: Kind<object> = {
  words: 'an object',
  test: (value) => typeof value === 'object' && value !== null,
};

/** An array. */
export const array: Kind<readonly unknown[]> = {
  words: 'an array',
  test: (value) => Array.isArray(value),
};

/** An array of strings. */
export const strings: Kind<readonly string[]> = {
  words: 'an array of strings',
  test: (value) => Array.isArray(value) && value.every(isString),
};

/** An iterable object, such as an array or a map. */
export const iterable: Kind<Iterable<unknown>> = {
  words: 'an iterable',
  test: (value) => hasMethod(value, Symbol.iterator),
};

/** A number of 0 or more. */
export const nonNegative: Kind<number> = {
  words: 'a number of 0 or more',
  test: (value) => isNumber(value, 0),
};

/** A number above 0. */
export const positive: Kind<number> = {
  words: 'a number above 0',
  test: (value) => isNumber(value, Number.MIN_VALUE),
};

/** A number from 0 to 1. */
export const share: Kind<number> = {
  words: 'a number from 0 to 1',
  test: (value) => isNumber(value, 0, 1),
};

/** A whole number of 0 or more. */
export const whole: Kind<number> = {
  words: 'a whole number of 0 or more',
  test: (value) => Number.isInteger(value) && value >= 0,
};

/** A whole number of 1 or more. */
export const natural: Kind<number> = {
  words: 'a whole number of 1 or more',
  test: (value) => Number.isInteger(value) && value >= 1,
};

/** `Infinity`, as in `either(natural, infinity)`. */
export const infinity: Kind<number> = { words: 'Infinity', test: (value) => value === Infinity };

/**
 * Returns the kind of exactly these texts.
 *
 * @__NO_SIDE_EFFECTS__
 */
export function oneOf<const T extends string>(...texts: readonly T[]): Kind<T> {
  return {
    words: texts.map((text) => `'${text}'`).join(' or '),
    test: (value) => texts.includes(value),
  };
}

/**
 * Returns the kind of an object with this method.
 *
 * @__NO_SIDE_EFFECTS__
 */
export function withMethod<M extends string>(
  method: M,
  words: string = `an object with ${method}()`,
): Kind<{ readonly [K in M]: AnyFunction }> {
  return { words, test: (value) => hasMethod(value, method) };
}

/**
 * Returns the kind of a value of any of these kinds.
 *
 * @__NO_SIDE_EFFECTS__
 */
export function either<const K extends readonly Kind[]>(...kinds: K): Kind<TypeOf<K[number]>> {
  return {
    words: kinds.map(({ words }) => words).join(' or '),
    test: (value) => kinds.some(({ test }) => test(value as never)),
  };
}

type TypeOf<K> = K extends Kind<infer T> ? T : never;

/**
 * Returns the kind of an option that may be left out.
 *
 * @__NO_SIDE_EFFECTS__
 */
export function optional<T>({ words, test }: Kind<T>): Kind<T | undefined> {
  return { words, test: (value) => value === undefined || test(value) };
}

/**
 * Returns the kind that also accepts `null`. Errors do not name it.
 *
 * @__NO_SIDE_EFFECTS__
 */
export function nullable<T>({ words, test }: Kind<T>): Kind<T | null> {
  return { words, test: (value) => value === null || test(value) };
}

function isString(value: unknown): boolean {
  return typeof value === 'string';
}

function isNumber(value: unknown, min: number, max = Infinity): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

function hasMethod(value: unknown, method: PropertyKey): boolean {
  return typeof Object(value)[method] === 'function';
}
