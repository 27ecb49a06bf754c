import { isRecord, type JsonObject, type JsonValue } from '../../message/json.ts';
import { mapSchemas } from '../../schema/map-schemas.ts';
import type { ToolSchema } from '../chat-model.ts';
import { toolParameters } from './wire-schema.ts';

/**
 * Returns the parameters of a tool as servers accept them, and its `strict`, or `undefined` if
 * strict mode does not accept the parameters. A strict tool gets closed objects, which the mode
 * demands, unless its schema allows other fields.
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

/**
 * Returns a tool with a description. Without one, it is the name, because
 * [Bedrock](https://github.com/Softeria/ms-365-mcp-server/issues/76) refuses an empty one.
 */
export function describedTool(tool: ToolSchema): ToolSchema {
  return tool.description ? tool : { ...tool, description: tool.name };
}

/** `schema`: a fitted one, whose inner schemas are all objects. */
function withClosedObjects(schema: JsonValue): JsonObject {
  const closed = mapSchemas(schema as JsonObject, withClosedObjects);
  // An object without properties may have any, such as the arguments of an unknown tool.
  const hasProperties = Object.keys(Object(closed['properties'])).length > 0;
  return hasProperties ? { additionalProperties: false, ...closed } : closed;
}

/**
 * Returns whether OpenAI accepts a schema in strict mode. Every object is closed and requires all
 * of its properties, and the schema has only the keywords and formats that the mode supports. The
 * server refuses the whole request otherwise (docs/reference/schemas.md has the sources).
 */
export function isStrict(root: JsonObject): boolean {
  return root['type'] === 'object' && !('anyOf' in root) && isNodeStrict(root);
}

function isNodeStrict(node: JsonValue): boolean {
  if (!isRecord(node)) return false;
  const schema = node as JsonObject;
  if ('$ref' in schema) return Object.keys(schema).length === 1;
  let isAccepted = isSupported(schema) && isComplete(schema);
  mapSchemas(schema, (inner) => {
    isAccepted &&= isNodeStrict(inner);
    return inner;
  });
  return isAccepted;
}

function isSupported(schema: JsonObject): boolean {
  const { type, anyOf, format = 'date', items = {} } = schema;
  return (
    (type ?? anyOf) !== undefined &&
    Object.keys(schema).every((key) => keywords.test(key)) &&
    formats.test(String(format)) &&
    isRecord(items)
  );
}

/** Returns whether a schema is not that of an object, or is closed and requires all properties. */
function isComplete({ type, properties, required, additionalProperties }: JsonObject): boolean {
  if (properties === undefined && ![type].flat().includes('object')) return true;
  const names = isRecord(properties) ? Object.keys(properties) : [];
  const requiredNames = [required].flat();
  return additionalProperties === false && names.every((name) => requiredNames.includes(name));
}

const keywords =
  /^(type|properties|required|additionalProperties|items|enum|const|anyOf|\$defs|definitions|title|description|pattern|format|multipleOf|(exclusiveM|m)(ax|in)imum|m(ax|in)Items)$/;

const formats = /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/;
