import type { JsonValue } from './json.ts';

/** Parses a text as JSON. Returns `undefined` if it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
