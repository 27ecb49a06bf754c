import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';

/**
 * Returns the `type` that a JSON Schema gives a place in the value. Returns `undefined` if the
 * schema has none there, for example because of a union or a reference.
 */
export function typeAt(schema: JsonObject, path: readonly string[]): JsonValue | undefined {
  let node = schema;
  for (const key of path) {
    const { properties, items, additionalProperties } = node;
    const property = isRecord(properties) ? (properties as JsonObject)[key] : undefined;
    const inner = property ?? items ?? additionalProperties;
    if (!isRecord(inner)) return undefined;
    node = inner as JsonObject;
  }
  return node['type'];
}
