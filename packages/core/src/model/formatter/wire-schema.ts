import {
  isRecord,
  isSameJson,
  pickFields,
  type JsonObject,
  type JsonValue,
} from '../../message/json.ts';
import { valueAtRef } from '../../schema/local-refs.ts';
import { mapFields, mapSchemas } from '../../schema/map-schemas.ts';

/**
 * Returns the schema of a tool's arguments in a form that servers accept. Its root is an object
 * with `properties`, without a union and `$ref`. One tool with another schema makes servers refuse
 * the whole request. `docs/reference/schemas.md` has the sources.
 *
 * The forms of a union become one object that allows the fields of all forms. Its description says
 * which fields belong together. The result may accept more than the schema, but never less. So
 * check arguments against the schema itself.
 */
export function toolParameters(schema: JsonObject): JsonObject {
  const root = withoutRootRef(schema);
  const { anyOf, oneOf, allOf, $ref, enum: _values, ...object } = root;
  const isUnion = [anyOf, oneOf, allOf, $ref].some(Boolean);
  const union = isUnion ? unionFields(formsOf(root, root), object['description']) : {};
  return { properties: {}, ...fitSchema({ ...object, ...union, type: 'object' }) };
}

/**
 * Returns why a schema cannot be that of a tool's arguments, or nothing if it can. Servers take
 * only arguments by name, so some form of the schema must be an object.
 */
export function parametersIssue(schema: JsonObject): string | undefined {
  const root = withoutRootRef(schema);
  if (formsOf(root, root).length) return undefined;
  const { type, anyOf, oneOf } = root;
  const otherKind = (anyOf ?? oneOf) ? 'a union without an object' : 'another value';
  const kind = [type ?? otherKind].flat().join(' or ');
  return `must be an object, because models give arguments by name, but its schema says ${kind}`;
}

/** Returns the schema of a reply without details that servers refuse or read differently. */
export function replySchema(schema: JsonObject): JsonObject {
  return fitSchema(withoutRootRef(schema));
}

/** Returns the schema with the definition that its root refers to, if it does. */
function withoutRootRef(schema: JsonObject): JsonObject {
  const { $ref, ...rest } = schema;
  const target = typeof $ref === 'string' ? valueAtRef(schema, $ref) : undefined;
  return isRecord(target) ? { ...rest, ...target } : schema;
}

/** One form of an object that a schema accepts. */
interface Form {
  readonly properties: JsonObject;
  readonly required: readonly string[];
}

/** Maximum number of forms. Of more, only one is kept, which allows the fields of all of them. */
const maxForms = 64;

/**
 * Returns the forms of the objects that a schema accepts. A schema for other values has none.
 * `visitedForms`: forms of the schemas around it. A schema that contains itself adds no forms.
 */
function formsOf(
  schema: JsonValue,
  root: JsonObject,
  visitedForms: Map<JsonValue, readonly Form[]> = new Map(),
): readonly Form[] {
  if (!isRecord(schema)) return schema === true ? [{ properties: {}, required: [] }] : [];
  const node = schema as JsonObject;
  if (!mayBeObject(node)) return [];
  const earlierForms = visitedForms.get(node);
  if (earlierForms) return earlierForms;
  visitedForms.set(node, []);
  const formsIn = (part: JsonValue): readonly Form[] => formsOf(part, root, visitedForms);
  const { $ref, properties } = node;
  const parts = listOf(node, 'allOf').map(formsIn);
  if (typeof $ref === 'string') parts.push(formsIn(valueAtRef(root, $ref) ?? true));
  for (const union of ['anyOf', 'oneOf'])
    if (union in node) parts.push(listOf(node, union).flatMap(formsIn));
  const ownForm = {
    properties: isRecord(properties) ? properties : {},
    required: listOf(node, 'required'),
  } as Form;
  const forms = parts.reduce(combineForms, [ownForm]);
  visitedForms.set(node, forms);
  return forms;
}

function listOf(schema: JsonObject, key: string): readonly JsonValue[] {
  const list = schema[key];
  return Array.isArray(list) ? (list as readonly JsonValue[]) : [];
}

function mayBeObject({ type = 'object', enum: values, const: value = {} }: JsonObject): boolean {
  const isListed = !Array.isArray(values) || values.some(isRecord);
  return [type].flat().includes('object') && isRecord(value) && isListed;
}

/** Returns the forms of objects that have one form of each list at once. */
function combineForms(first: readonly Form[], second: readonly Form[]): readonly Form[] {
  const forms: readonly Form[] = first.flatMap((one) =>
    second.map((other) => ({
      properties: { ...one.properties, ...other.properties },
      required: [...one.required, ...other.required],
    })),
  );
  return forms.length > maxForms ? [eitherForm(forms)] : forms;
}

/** Returns the form of an object that has one of these forms. */
function eitherForm(forms: readonly Form[]): Form {
  const allProperties: JsonObject = Object.assign({}, ...forms.map((form) => form.properties));
  const properties = mapFields(allProperties, (_last, name) =>
    eitherSchema(forms.flatMap((form) => form.properties[name] ?? [])),
  );
  const isRequired = (name: string): boolean =>
    forms.every(({ required }) => required.includes(name));
  return { properties, required: Object.keys(properties).filter(isRequired) };
}

function eitherSchema(schemas: readonly JsonValue[]): JsonValue {
  const byText = new Map(schemas.map((schema) => [JSON.stringify(schema), schema as JsonObject]));
  const forms = [...byText.values()];
  const [first, ...others] = forms.map(({ const: value, ...rest }) => ({ value, rest }));
  if (!others.length) return forms[0]!;
  const isList = [first!, ...others].every(
    ({ value, rest }) => value !== undefined && isSameJson(rest, first!.rest),
  );
  // The list is shorter, and Gemini refuses `const`.
  return isList ? { ...first!.rest, enum: forms.map((form) => form['const']!) } : { anyOf: forms };
}

/** Returns the fields of an object that has one of these forms. */
function unionFields(forms: readonly Form[], description: JsonValue = ''): JsonObject {
  const texts = [...new Set(forms.map(formText))].join(' or ');
  const note = forms.length > 1 ? `The arguments have one of these forms: ${texts}` : '';
  return { ...eitherForm(forms), description: [description, note].filter(Boolean).join('\n') };
}

/** Returns a text such as `{kind: "square", side, color?}`. */
function formText({ properties, required }: Form): string {
  const names = new Set([...Object.keys(properties), ...required]);
  const fields = [...names].map((name) => {
    const { const: value } = Object(properties[name]) as JsonObject;
    const suffix = value === undefined ? '' : `: ${JSON.stringify(value)}`;
    return `${name}${required.includes(name) ? '' : '?'}${suffix}`;
  });
  return `{${fields.join(', ')}}`;
}

/** Returns a copy of a schema without what servers refuse. It may allow more than the schema. */
function fitSchema(schema: JsonValue): JsonObject {
  // llama.cpp has no grammar for `true`, `false` and `not`.
  if (!isRecord(schema)) return {};
  const { $schema: _dialect, not: _not, oneOf, pattern, ...rest } = schema as JsonObject;
  const node: Record<string, JsonValue> = { ...pickFields(rest, hasItsType) };
  // OpenAI's strict mode refuses `oneOf`, which Zod makes for a discriminated union.
  if (oneOf !== undefined) node['anyOf'] ??= oneOf;
  const plainPattern = toPlainPattern(String(pattern));
  if (plainPattern) node['pattern'] = plainPattern;
  // llama.cpp refuses higher limits.
  for (const name of ['maxLength', 'maxItems']) if (Number(node[name]) >= 2000) delete node[name];
  return mapSchemas(withNewerKeywords(node), fitSchema);
}

/**
 * Returns a pattern that means the same, without escapes. Returns nothing if there is none. OpenAI
 * and llama.cpp refuse patterns that look ahead or back. llama.cpp also refuses escapes such as
 * `\s`, and patterns for a part of the text.
 */
function toPlainPattern(pattern: string): string | undefined {
  const hasList = pattern.includes('[');
  const plain = hasList
    ? pattern
    : pattern.replaceAll('\\d', '[0-9]').replaceAll('\\w', '[A-Za-z0-9_]');
  return /^\^[^\\]*\$$/.test(plain) && !plain.includes('(?') ? plain : undefined;
}

/**
 * Returns whether a keyword has a value of its type. Some MCP servers send `null` or a boolean,
 * which OpenAI refuses:
 * https://github.com/MervinPraison/PraisonAI/issues/3111,
 * https://github.com/MarkusPfundstein/mcp-gsuite/issues/48.
 */
function hasItsType(key: string, value: unknown): boolean {
  if (key === 'required') return Array.isArray(value);
  return key !== 'properties' || isRecord(value);
}

/**
 * Replaces keywords of older drafts, which Anthropic refuses, and adds `items` to arrays, which
 * OpenAI and Gemini demand.
 */
function withNewerKeywords(schema: JsonObject): JsonObject {
  const { items, additionalItems = {}, ...rest } = schema;
  const withMinimum = withNumericLimit(rest, 'minimum', 'exclusiveMinimum');
  const node = withNumericLimit(withMinimum, 'maximum', 'exclusiveMaximum');
  if (Array.isArray(items)) return { ...node, prefixItems: items, items: additionalItems };
  if (isRecord(items) || items === false) return { ...node, items };
  return items || [node['type']].flat().includes('array') ? { ...node, items: {} } : node;
}

/** Makes an exclusive limit a number. In draft 4, it was a boolean beside the limit. */
function withNumericLimit(schema: JsonObject, name: string, exclusiveName: string): JsonObject {
  const { [name]: limit, [exclusiveName]: isExclusive, ...rest } = schema;
  if (typeof isExclusive !== 'boolean') return schema;
  return limit === undefined ? rest : { ...rest, [isExclusive ? exclusiveName : name]: limit };
}
