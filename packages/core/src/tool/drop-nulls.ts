import { isRecord } from '../message/is-record.ts';
import type { JsonObject, JsonValue } from '../message/json.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns a tool call's arguments without each `null` that a model wrote for an optional argument.
 * Keeps a `null` if the schema allows it or if the argument is required. Also searches nested
 * objects and lists. `hidden`: parameters of the tool that the schema does not list. Returns the
 * same value if nothing changes.
 */
export function dropNulls(value: JsonValue, schema: unknown, hidden: JsonObject = {}): JsonValue {
  if (!isRecord(value)) return value;
  if (Array.isArray(value)) {
    const { items: each } = partWith('items', schema);
    const items = value.map((item: JsonValue) => dropNulls(item, each));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const { properties, required } = partWith('properties', schema) as {
    readonly properties?: JsonObject;
    readonly required?: readonly string[];
  };
  const known = { ...hidden, ...properties };
  const isDropped = (key: string, item: JsonValue): boolean =>
    item === null &&
    Object.hasOwn(known, key) &&
    !required?.includes(key) &&
    !allowsNull(properties?.[key]);
  const entries = Object.entries(value as JsonObject);
  const kept = entries
    .filter(([key, item]) => !isDropped(key, item))
    .map(([key, item]) => [key, dropNulls(item, properties?.[key])] as const);
  const isSame =
    kept.length === entries.length && kept.every(([, item], index) => item === entries[index]![1]);
  return isSame ? value : Object.fromEntries(kept);
}

/**
 * Returns the schema if it has the keyword. Otherwise returns the first schema with the keyword in
 * its `anyOf` or `oneOf`, or `{}`.
 */
function partWith(keyword: string, schema: unknown): Fields {
  if (!isRecord(schema)) return {};
  if (keyword in schema) return schema;
  return unionOf(schema).find((part) => isRecord(part) && keyword in part) ?? {};
}

function unionOf({ anyOf, oneOf }: Fields): readonly Fields[] {
  return [anyOf, oneOf].filter(Array.isArray).flat();
}

/** Keywords of a JSON Schema that can exclude `null`. */
const limiting = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'not', '$ref'];

/** Returns whether a schema allows `null`. */
function allowsNull(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  if (!limiting.some((keyword) => keyword in schema)) return true;
  const { type, enum: values } = schema;
  const isNull = type === 'null' || (Array.isArray(type) && type.includes('null'));
  return (
    isNull || (Array.isArray(values) && values.includes(null)) || unionOf(schema).some(allowsNull)
  );
}
