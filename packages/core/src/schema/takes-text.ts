import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';
import { valueAtRef } from './local-refs.ts';

/**
 * Returns whether a JSON Schema may accept this text at a place in the value. Does not check formats
 * and patterns. A place about which the schema says nothing may have any value.
 */
export function takesText(root: JsonObject, path: readonly string[], text: string): boolean {
  let schemas = formsOf(root, [root]);
  for (const key of path) {
    schemas = formsOf(
      root,
      schemas.flatMap((schema) => innerSchemas(schema, key)),
    );
  }
  return schemas.some(({ type = 'string', const: value = text, enum: values = [value] }) => {
    const isListed = (values as readonly JsonValue[]).includes(text) && value === text;
    return isListed && [type].flat().includes('string');
  });
}

const unionKeywords = ['anyOf', 'oneOf', 'allOf'];

/** Returns the schemas, and in place of a union and a reference what they consist of. */
function formsOf(root: JsonObject, schemas: readonly JsonValue[]): readonly JsonObject[] {
  const visited = new Set<JsonValue>();
  const forms: JsonObject[] = [];
  const visit = (schema: JsonValue): void => {
    if (schema === true) forms.push({});
    if (!isRecord(schema) || visited.has(schema as JsonObject)) return;
    visited.add(schema as JsonObject);
    const { $ref, ...fields } = schema as JsonObject;
    if (typeof $ref === 'string') visit(valueAtRef(root, $ref) ?? true);
    const parts = unionKeywords.flatMap((key) => fields[key] ?? []);
    parts.forEach(visit);
    const hasOwnRules = ['type', 'properties', 'items', 'const', 'enum'].some(
      (key) => key in fields,
    );
    if (hasOwnRules || ($ref === undefined && !parts.length)) forms.push(fields);
  };
  schemas.forEach(visit);
  return forms;
}

/** Returns the schemas of a property or an item. */
function innerSchemas(schema: JsonObject, key: string): readonly JsonValue[] {
  const { type = ['object', 'array'], properties, additionalProperties = true } = schema;
  const { prefixItems, items = true } = schema;
  if (![type].flat().some((each) => each === 'object' || each === 'array')) return [];
  const isArray = 'items' in schema || 'prefixItems' in schema;
  if (!isArray) {
    const isKnown = isRecord(properties) && Object.hasOwn(properties, key);
    return [isKnown ? (properties as JsonObject)[key]! : additionalProperties];
  }
  const list = Array.isArray(items) ? items : prefixItems;
  const item = Array.isArray(list) ? (list as readonly JsonValue[])[Number(key)] : undefined;
  return [item ?? (Array.isArray(items) ? true : items)];
}
