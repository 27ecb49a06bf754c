import { invalidInput } from '../error/agent-error.ts';
import { isRecord } from '../message/json/is-record.ts';
import type { JsonObject } from '../message/json/json.ts';

/**
 * Returns the JSON Schema of a tool's input: an object with these fields and no others. Default of
 * `required`: all fields.
 */
export function objectInput(
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
): JsonObject {
  return { type: 'object', properties, required: [...required], additionalProperties: false };
}

/** Returns a text in a tool's input. Throws `INVALID_INPUT`, which the model reads, for a blank one. */
export function textIn(input: unknown, field: string): string {
  const text = isRecord(input) ? input[field] : undefined;
  if (typeof text === 'string' && text.trim()) return text.trim();
  throw invalidInput(`${field}: a string that is not empty`);
}
