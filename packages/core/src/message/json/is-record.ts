/** Returns whether a value is an object. Also true for arrays. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Returns whether a value is an object and no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && !Array.isArray(value);
}

/**
 * Returns whether an object is plain, so not an instance such as a `Date` or `Map`. Works across
 * realms.
 */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
