import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';
import { mapSchemas } from '../schema/map-schemas.ts';
import type { ToolSchema } from './chat-model.ts';
import { toolParameters } from './wire-schema.ts';

/**
 * Returns the parameters of a tool as servers accept them, and its `strict`, or `undefined` if strict
 * mode does not accept the parameters. A strict tool gets closed objects, which the mode demands,
 * unless its schema allows other fields.
 */
export function wireParameters({
  parameters,
  strict,
}: ToolSchema): Pick<ToolSchema, 'parameters' | 'strict'> {
  const fitted = toolParameters(parameters);
  if (strict !== true) return { parameters: fitted, strict };
  const closed = withClosedObjects(fitted);
  return isStrict(closed)
    ? { parameters: closed, strict }
    : { parameters: fitted, strict: undefined };
}

function withClosedObjects(schema: JsonObject): JsonObject {
  const closed = mapSchemas(schema, (inner) =>
    isRecord(inner) ? withClosedObjects(inner as JsonObject) : inner,
  );
  // An object without properties may have any, such as the arguments of an unknown tool.
  const hasProperties = Object.keys(Object(closed['properties'])).length > 0;
  return hasProperties ? { additionalProperties: false, ...closed } : closed;
}

/**
 * Returns whether OpenAI accepts a schema in strict mode. Every object is closed and requires all of
 * its properties, and the schema has only the keywords, formats and sizes that the mode supports.
 * The server refuses the whole request otherwise (docs/reference/schemas.md has the sources).
 */
export function isStrict(root: JsonObject): boolean {
  const sizes: Sizes = { properties: 0, values: 0, text: 0 };
  return (
    root['type'] === 'object' &&
    !('anyOf' in root) &&
    isNodeStrict(root, 1, sizes) &&
    sizes.properties <= 5_000 &&
    sizes.values <= 1_000 &&
    sizes.text <= 120_000
  );
}

/** Sizes of a whole schema, which strict mode limits. */
interface Sizes {
  properties: number;
  /** Number of values in `enum`. */
  values: number;
  /** Characters in the names of properties and definitions, and in the values of `enum`, `const`. */
  text: number;
}

/** `depth`: number of the objects around the node, plus one. Strict mode allows ten levels. */
function isNodeStrict(node: JsonValue, depth: number, sizes: Sizes): boolean {
  if (!isRecord(node) || depth > 10) return false;
  const schema = node as JsonObject;
  if ('$ref' in schema) return Object.keys(schema).length === 1;
  if (!isSupported(schema) || !isComplete(schema) || !addSizes(schema, sizes)) return false;
  const innerDepth = 'properties' in schema ? depth + 1 : depth;
  let areInnerStrict = true;
  mapSchemas(schema, (inner) => {
    areInnerStrict &&= isNodeStrict(inner, innerDepth, sizes);
    return inner;
  });
  return areInnerStrict;
}

function isSupported(schema: JsonObject): boolean {
  const { format = 'date', items = {} } = schema;
  return (
    ('type' in schema || 'anyOf' in schema) &&
    Object.keys(schema).every((key) => keywords.test(key)) &&
    formats.test(String(format)) &&
    isRecord(items)
  );
}

/** Returns whether a schema is not that of an object, or is closed and requires all properties. */
function isComplete({ type, properties, required, additionalProperties }: JsonObject): boolean {
  const isObject = properties !== undefined || [type].flat().includes('object');
  const requiredNames = new Set([required].flat());
  const names = Object.keys(Object(properties));
  return !isObject || (additionalProperties === false && names.every((n) => requiredNames.has(n)));
}

/** Adds the sizes of one node. Returns false if its `enum` is too long. */
function addSizes(schema: JsonObject, sizes: Sizes): boolean {
  const { properties, $defs, definitions, enum: values = [], const: value } = schema;
  const names = [properties, $defs, definitions].flatMap((map) => Object.keys(Object(map)));
  const texts = [values].flat().filter((each) => typeof each === 'string');
  const valuesLength = texts.join('').length;
  sizes.properties += Object.keys(Object(properties)).length;
  sizes.values += [values].flat().length;
  sizes.text += names.join('').length + valuesLength;
  if (typeof value === 'string') sizes.text += value.length;
  return [values].flat().length <= 250 || valuesLength <= 15_000;
}

const keywords =
  /^(?:type|properties|required|additionalProperties|items|enum|const|anyOf|\$defs|definitions|title|description|pattern|format|multipleOf|(?:exclusiveM|m)(?:ax|in)imum|(?:max|min)Items)$/;

const formats = /^(?:date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/;
