import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';

const schemaKeywords =
  /^(?:items|contains|not|if|then|else|propertyNames|additionalProperties|unevaluated(?:Items|Properties))$/;
const listKeywords = /^(?:anyOf|oneOf|allOf|prefixItems)$/;
const mapKeywords = /^(?:properties|patternProperties|\$defs|definitions|dependentSchemas)$/;

/**
 * Returns a copy of a JSON Schema whose inner schemas `change` has replaced. `keyword`: the keyword
 * that has the inner schema. Values in `default`, `enum` and the like stay, and a property may have
 * the name of a keyword. `true` and `false` in place of an object stay in keywords such as
 * `additionalProperties`.
 */
export function mapSchemas(
  schema: JsonObject,
  change: (inner: JsonValue, keyword: string) => JsonValue,
): JsonObject {
  const fields = Object.entries(schema).map(([key, value]): [string, JsonValue] => {
    if (listKeywords.test(key) && Array.isArray(value))
      return [key, value.map((inner: JsonValue) => change(inner, key))];
    if (mapKeywords.test(key) && isRecord(value)) {
      const schemas = Object.entries(value as JsonObject);
      return [key, Object.fromEntries(schemas.map(([name, inner]) => [name, change(inner, key)]))];
    }
    const isSchema = schemaKeywords.test(key) && isRecord(value);
    return [key, isSchema ? change(value as JsonObject, key) : value];
  });
  return Object.fromEntries(fields);
}
