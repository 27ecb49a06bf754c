import {
  schemaArrayKeyword,
  schemaKeyword,
  schemaMapKeyword,
  type Schema as JsonSchemaNode,
} from '@cfworker/json-schema';
import { misconfigured, type AgentError } from '../error/agent-error.ts';
import { isRecord, isObjectOrArray } from '../message/json.ts';

type Lookup = Readonly<Record<string, JsonSchemaNode | boolean>>;

type Node = Readonly<Record<string, unknown>>;

const typeNames = /^(array|boolean|integer|null|number|object|string)$/;
const arrayKeywords = /^(required|enum|prefixItems|allOf|anyOf|oneOf)$/;
const numberKeywords = /^((min|max)(Length|Items|Properties|Contains)|minimum|maximum|multipleOf)$/;
const mapKeywords: Readonly<Record<string, boolean>> = { ...schemaMapKeyword, dependencies: true };

/**
 * Throws `CONFIGURATION` for a wrong type, pattern, limit or `$ref`. The message contains the
 * pointer to the mistake. Without this check, the validator would ignore the mistake or fail at the
 * first value. `lookup` contains the schemas that `$ref` can refer to.
 */
export function checkJsonSchema(root: JsonSchemaNode, lookup: Lookup): void {
  visit(root, '#');

  function visit(node: unknown, pointer: string): void {
    const toError = (what: string): AgentError =>
      misconfigured(`The JSON Schema at ${pointer}: ${what}`);
    if (typeof node === 'boolean') return;
    if (!isRecord(node)) throw toError('a schema must be an object, true or false.');
    const issue = valueIssue(node) ?? patternIssue(node);
    if (issue) throw toError(issue);
    if (node['$dynamicRef'] !== undefined) throw toError('"$dynamicRef" is not supported.');
    if (node['$ref'] !== undefined) checkRef(node as JsonSchemaNode, toError);
    for (const [key, value] of Object.entries(node)) {
      if (Array.isArray(value) && schemaArrayKeyword[key])
        value.forEach((inner, index) => visit(inner, `${pointer}/${key}/${index}`));
      else if (mapKeywords[key]) visitMap(value, `${pointer}/${key}`, toError);
      else if (schemaKeyword[key]) visit(value, `${pointer}/${key}`);
    }
  }

  function visitMap(value: unknown, pointer: string, toError: (what: string) => AgentError): void {
    if (!isRecord(value))
      throw toError(`"${pointer.slice(pointer.lastIndexOf('/') + 1)}" must be an object.`);
    for (const [name, inner] of Object.entries(value)) {
      // In draft 7, the values of `dependencies` may be lists of names.
      if (!pointer.endsWith('/dependencies') || !Array.isArray(inner))
        visit(inner, `${pointer}/${name}`);
    }
  }

  function checkRef(start: JsonSchemaNode, toError: (what: string) => AgentError): void {
    const visitedNodes = new Set<unknown>();
    let node: JsonSchemaNode | boolean | undefined = start;
    while (typeof node === 'object' && node.$ref !== undefined) {
      if (visitedNodes.has(node))
        throw toError(`the "$ref" ${JSON.stringify(start.$ref)} refers to itself.`);
      visitedNodes.add(node);
      const target: JsonSchemaNode | boolean | undefined =
        lookup[node.__absolute_ref__ ?? node.$ref];
      if (target === undefined)
        throw toError(`the "$ref" ${JSON.stringify(node.$ref)} points to nothing.`);
      node = target;
    }
  }
}

function valueIssue(node: Node): string | undefined {
  const { type = [] } = node;
  const unknownType = [type]
    .flat()
    .find((each) => typeof each !== 'string' || !typeNames.test(each));
  if (unknownType !== undefined) return `${JSON.stringify(unknownType)} is not a JSON Schema type.`;
  for (const [key, value] of Object.entries(node)) {
    if (arrayKeywords.test(key) && !Array.isArray(value)) return `"${key}" must be an array.`;
    if (numberKeywords.test(key) && typeof value !== 'number') return `"${key}" must be a number.`;
  }
  return undefined;
}

function patternIssue(node: Node): string | undefined {
  const { pattern, patternProperties } = node;
  const names = isObjectOrArray(patternProperties) ? Object.keys(patternProperties) : [];
  const invalidPattern = [pattern ?? '', ...names].find((each) => !isRegularExpression(each));
  return invalidPattern === undefined
    ? undefined
    : `${JSON.stringify(invalidPattern)} is not a regular expression (flag u).`;
}

function isRegularExpression(pattern: unknown): boolean {
  try {
    return typeof pattern === 'string' && new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
