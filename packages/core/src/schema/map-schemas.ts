import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';

const schemaKeywords =
  /^(?:items|contains|not|if|then|else|propertyNames|additionalProperties|unevaluated(?:Items|Properties))$/;
const listKeywords = /^(?:anyOf|oneOf|allOf|prefixItems)$/;
const mapKeywords = /^(?:properties|patternProperties|\$defs|definitions|dependentSchemas)$/;

/**
 * Returns a copy of a JSON Schema whose inner schemas `change` has replaced. Values in `default`,
 * `enum` and the like stay, and a property may have the name of a keyword. `true` and `false` in
 * place of an object stay in keywords such as `additionalProperties`.
 */
export function mapSchemas(
  schema: JsonObject,
  change: (inner: JsonValue) => JsonValue,
): JsonObject {
  const fields = Object.entries(schema).map(([key, value]): [string, JsonValue] => {
    if (listKeywords.test(key) && Array.isArray(value))
      return [key, value.map((inner: JsonValue) => change(inner))];
    if (mapKeywords.test(key) && isRecord(value)) {
      const schemas = Object.entries(value as JsonObject);
      return [key, Object.fromEntries(schemas.map(([name, inner]) => [name, change(inner)]))];
    }
    return [key, schemaKeywords.test(key) && isRecord(value) ? change(value as JsonObject) : value];
  });
  return Object.fromEntries(fields);
}
