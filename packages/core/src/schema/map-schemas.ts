import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';

/** Keywords whose value is a schema or a list of schemas. */
const schemaKeywords =
  /^((any|one|all)Of|prefixItems|items|contains|not|if|then|else|propertyNames|additionalProperties|unevaluated(Items|Properties))$/;
/** Keywords whose value is an object with a schema in each field. */
const mapKeywords = /^(properties|patternProperties|\$defs|definitions|dependentSchemas)$/;

/**
 * Returns a copy of a JSON Schema whose inner schemas `change` has replaced. Values in `default`,
 * `enum` and the like stay, and a property may have the name of a keyword. `true` and `false` in
 * place of an object stay in keywords such as `additionalProperties`.
 */
export function mapSchemas(
  schema: JsonObject,
  change: (inner: JsonValue) => JsonValue,
): JsonObject {
  return mapFields(schema, (value, key) => {
    if (mapKeywords.test(key)) return isRecord(value) ? mapFields(value, change) : value;
    if (!schemaKeywords.test(key)) return value;
    if (Array.isArray(value)) return value.map(change);
    return isRecord(value) ? change(value) : value;
  });
}

/** Returns a copy of an object whose values `change` has replaced. */
export function mapFields(
  fields: JsonObject,
  change: (value: JsonValue, key: string) => JsonValue,
): JsonObject {
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.map(([key, value]) => [key, change(value, key)]));
}
