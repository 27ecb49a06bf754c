import type { JsonValue } from './json.ts';

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
