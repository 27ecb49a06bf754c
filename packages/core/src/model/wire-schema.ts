import { isRecord, isSameJson, omitUndefined } from '../message/json.ts';
import type { JsonObject, JsonValue } from '../message/json.ts';
import { mapSchemas } from '../schema/map-schemas.ts';
import { hasRootRefs, valueAtRef, withMovedRefs } from '../schema/local-refs.ts';

/**
 * Returns the schema of a tool's arguments in a form that servers accept. Its root is an object with
 * `properties`, without a union, `not`, `enum` and `$ref`. One tool with another schema
 * makes servers refuse the whole request. `docs/reference/schemas.md` has the sources.
 *
 * The forms of a union become one object that allows the fields of all forms. Its description says
 * which fields belong together. The result may accept more than the schema, but never less. So check
 * arguments against the schema itself.
 */
export function toolParameters(schema: JsonObject): JsonObject {
  const plainRoot = withoutRootRef(schema);
  if (!rootKeywords.some((key) => key in plainRoot)) return asObject(plainRoot, plainRoot);
  const root = withNamedRoot(plainRoot);
  const forms = formsIn(root);
  const { anyOf: _any, oneOf: _one, allOf: _all, not, enum: values, ...ownFields } = root;
  if (!forms.length) return asObject(ownFields, root);
  const { required: _required, ...rest } = ownFields;
  const { properties, required, isClosed } = forms.reduce(either);
  const others = omitUndefined({ not, enum: values });
  const notes = [
    rest['description'],
    formsText(forms),
    Object.keys(others).length && `They must fit this JSON Schema, too: ${JSON.stringify(others)}`,
  ];
  const description = notes.filter(Boolean).join('\n');
  const merged = {
    ...rest,
    ...(description && { description }),
    properties,
    ...(required.length && { required }),
    ...(isClosed && { additionalProperties: false }),
  };
  return asObject(merged, root);
}

/**
 * Returns why a schema cannot be that of a tool's arguments, or nothing if it can. Servers take only
 * arguments by name, so some form of the schema must be an object.
 */
export function parametersIssue(schema: JsonObject): string | undefined {
  const root = withoutRootRef(schema);
  if (formsIn(root).length) return undefined;
  const { type, anyOf, oneOf } = root;
  const otherKind = (anyOf ?? oneOf) ? 'a union without an object' : 'another value';
  const kind = [type ?? otherKind].flat().join(' or ');
  return `must be an object, because models give arguments by name, but its schema says ${kind}`;
}

/** Returns the schema of a reply without details that servers refuse or read differently. */
export function replySchema(schema: JsonObject): JsonObject {
  const { $schema: _dialect, ...root } = withoutRootRef(schema);
  return fit(root, root) as JsonObject;
}

/** Keywords that OpenAI refuses at the root. */
const rootKeywords = ['anyOf', 'oneOf', 'allOf', 'not', 'enum'];

/** Returns the schema of an object, whose inner schemas fit, too. `root`: what references refer to. */
function asObject(schema: JsonObject, root: JsonObject): JsonObject {
  // A reference that is still here names nothing that the server could know.
  const { $schema: _dialect, $ref: _ref, properties = {}, ...rest } = schema;
  return fit({ ...rest, type: 'object', properties }, root) as JsonObject;
}

/** Returns the schema with the definition that its root refers to, if it does. */
function withoutRootRef(schema: JsonObject): JsonObject {
  let root = schema;
  const visitedRefs = new Set<unknown>();
  while (typeof root['$ref'] === 'string' && !visitedRefs.has(root['$ref'])) {
    const { $ref, ...rest } = root;
    const target = valueAtRef(schema, $ref as string);
    if (!isRecord(target)) return root;
    visitedRefs.add($ref);
    root = { ...(target as JsonObject), ...rest };
  }
  return root;
}

/** Name of the definition that has the exact root, for references to it. */
const rootName = 'arguments';

/** Returns the schema with its root as a definition, too, if it has references to the root. */
function withNamedRoot(root: JsonObject): JsonObject {
  if (!hasRootRefs(root)) return root;
  const moved = withMovedRefs(root, `#/$defs/${rootName}`);
  const { $defs, definitions: _definitions, ...exactRoot } = moved;
  return { ...moved, $defs: { ...($defs as JsonObject), [rootName]: exactRoot } };
}

/** One form of an object that a schema accepts. */
interface Form {
  readonly properties: JsonObject;
  readonly required: readonly string[];
  /** Whether the object has no other fields. */
  readonly isClosed: boolean;
}

/** Maximum number of forms. Of more, only one is kept, which allows the fields of all of them. */
const maxForms = 64;

/** Returns the forms of the objects that a schema accepts. A schema for other values has none. */
function formsIn(root: JsonObject): readonly Form[] {
  // A schema that contains itself adds no forms.
  const knownForms = new Map<unknown, readonly Form[]>();

  function formsOf(schema: JsonValue): readonly Form[] {
    if (schema === true) return formsOf({});
    if (!isRecord(schema)) return [];
    let forms = knownForms.get(schema);
    if (forms) return forms;
    knownForms.set(schema, []);
    forms = readForms(schema as JsonObject);
    knownForms.set(schema, forms);
    return forms;
  }

  function readForms(schema: JsonObject): readonly Form[] {
    if (!mayBeObject(schema)) return [];
    const { properties = {}, required = [], additionalProperties, $ref } = schema;
    let forms: readonly Form[] = [
      {
        properties: properties as JsonObject,
        required: required as readonly string[],
        isClosed: additionalProperties === false,
      },
    ];
    if (typeof $ref === 'string') forms = pairs(forms, formsOf(valueAtRef(root, $ref) ?? true));
    for (const part of listOf(schema, 'allOf')) forms = pairs(forms, formsOf(part));
    for (const union of ['anyOf', 'oneOf'])
      if (union in schema) forms = pairs(forms, listOf(schema, union).flatMap(formsOf));
    return forms;
  }

  return formsOf(root);
}

function listOf(schema: JsonObject, key: string): readonly JsonValue[] {
  const list = schema[key];
  return Array.isArray(list) ? (list as readonly JsonValue[]) : [];
}

function mayBeObject({ type = 'object', enum: values, const: value }: JsonObject): boolean {
  const isPossible = [type].flat().includes('object');
  const isListed = !Array.isArray(values) || values.some(isRecord);
  return isPossible && isListed && (value === undefined || isRecord(value));
}

function pairs(first: readonly Form[], second: readonly Form[]): readonly Form[] {
  const forms = first.flatMap((one) => second.map((other) => both(one, other)));
  return forms.length > maxForms ? [forms.reduce(either)] : forms;
}

/** Returns the form of an object that has two forms at once. */
function both(one: Form, other: Form): Form {
  return {
    properties: { ...one.properties, ...other.properties },
    required: [...new Set([...one.required, ...other.required])],
    isClosed: one.isClosed || other.isClosed,
  };
}

/** Returns the form of an object that has one of two forms. */
function either(one: Form, other: Form): Form {
  const properties: Record<string, JsonValue> = { ...one.properties };
  for (const [name, schema] of Object.entries(other.properties)) {
    const isShared = Object.hasOwn(one.properties, name);
    properties[name] = isShared ? eitherSchema(one.properties[name]!, schema) : schema;
  }
  return {
    properties,
    required: one.required.filter((name) => other.required.includes(name)),
    isClosed: one.isClosed && other.isClosed,
  };
}

function eitherSchema(one: JsonValue, other: JsonValue): JsonValue {
  if (isSameJson(one, other)) return one;
  const values = [valuesOf(one), valuesOf(other)];
  const rest = [one, other].map((schema) => {
    const { const: _value, enum: _values, ...fields } = schema as JsonObject;
    return fields;
  });
  if (values.every(Boolean) && isSameJson(rest[0], rest[1]))
    return { ...rest[0], enum: [...new Set(values.flatMap((list) => list!))] };
  const forms = [one, other].flatMap((schema) =>
    Object.keys(schema as object).join() === 'anyOf'
      ? listOf(schema as JsonObject, 'anyOf')
      : schema,
  );
  const texts = new Set(forms.map((form) => JSON.stringify(form)));
  return { anyOf: [...texts].map((text) => JSON.parse(text) as JsonValue) };
}

/** Returns the values that a schema lists, if it lists them. */
function valuesOf(schema: JsonValue | undefined): readonly JsonValue[] | undefined {
  if (!isRecord(schema)) return undefined;
  const { const: value, enum: values } = schema as JsonObject;
  if (value !== undefined) return [value];
  return Array.isArray(values) ? (values as readonly JsonValue[]) : undefined;
}

/** Returns a text such as `{kind: "circle", radius} or {kind: "square", side, color?}`. */
function formsText(forms: readonly Form[]): string {
  const texts = new Set(forms.map(formText));
  return forms.length > 1
    ? `The arguments have one of these forms: ${[...texts].join(' or ')}`
    : '';
}

function formText({ properties, required }: Form): string {
  const names = new Set([...Object.keys(properties), ...required]);
  const fields = [...names].map((name) => {
    const values = valuesOf(properties[name])?.map((value) => JSON.stringify(value));
    return `${name}${required.includes(name) ? '' : '?'}${values ? `: ${values.join(' | ')}` : ''}`;
  });
  return `{${fields.join(', ')}}`;
}

/**
 * Returns a copy of a schema without details that servers refuse. Keeps the meaning, or allows more
 * and says the rest in the description. `keyword`: where the schema stands.
 */
function fit(schema: JsonValue, root: JsonObject, keyword = ''): JsonValue {
  // llama.cpp has no grammar for `true`, `false` and `not`.
  if (schema === true) return {};
  if (isNothing(schema))
    return /^(?:items|add|uneval)/.test(keyword) ? false : { description: 'Leave it out.' };
  if (!isRecord(schema)) return schema;
  const changes = [withoutNot, withoutLookaround, withNumbers, withItems];
  const plain = changes.reduce(
    (node, change) => change(node),
    withAnyOf(schema as JsonObject, root),
  );
  return mapSchemas(plain, (inner, innerKeyword) => fit(inner, root, innerKeyword));
}

/** Returns whether a schema accepts no value. */
function isNothing(schema: JsonValue): boolean {
  if (!isRecord(schema)) return schema === false;
  const { not } = schema as JsonObject;
  return not === true || (isRecord(not) && !Object.keys(not).length);
}

function withNote(schema: JsonObject, note: string): JsonObject {
  return { ...schema, description: [schema['description'], note].filter(Boolean).join('\n') };
}

function withoutNot({ not, ...rest }: JsonObject): JsonObject {
  if (not === undefined) return rest;
  return 'type' in rest ? { ...rest, not } : withNote(rest, `Not: ${JSON.stringify(not)}`);
}

/** OpenAI refuses patterns that look ahead or back, and llama.cpp has no grammar for them. */
function withoutLookaround({ pattern, ...rest }: JsonObject): JsonObject {
  if (pattern === undefined) return rest;
  if (!lookaround.test(String(pattern))) return { ...rest, pattern };
  // Zod's pattern of an email address adds little to the format.
  return 'format' in rest ? rest : withNote(rest, `Pattern: ${String(pattern)}`);
}

const lookaround = /\(\?(?:[=!]|<[=!])/;

/** In draft 4, `exclusiveMinimum` and `exclusiveMaximum` were booleans. Anthropic refuses them. */
function withNumbers(schema: JsonObject): JsonObject {
  return withNumber(
    withNumber(schema, 'minimum', 'exclusiveMinimum'),
    'maximum',
    'exclusiveMaximum',
  );
}

function withNumber(schema: JsonObject, name: string, exclusiveName: string): JsonObject {
  const { [name]: limit, [exclusiveName]: isExclusive, ...rest } = schema;
  if (typeof isExclusive !== 'boolean') return schema;
  return {
    ...rest,
    ...omitUndefined({ [isExclusive ? exclusiveName : name]: limit }),
  } as JsonObject;
}

/**
 * Returns an array's schema with `items`, which OpenAI and Gemini demand. The list that older drafts
 * allow there is not in draft 2020-12, which Anthropic demands.
 */
function withItems(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema;
  if (Array.isArray(items))
    return { ...rest, prefixItems: items as JsonValue, items: additionalItems ?? {} };
  const isArray = [rest['type']].flat().includes('array');
  return isArray && (items ?? true) === true ? { ...rest, items: {} } : schema;
}

/**
 * Returns the schema with `anyOf` in place of `oneOf` if no value fits two of the forms. Zod makes
 * `oneOf` for a discriminated union, and OpenAI's strict mode refuses it.
 */
function withAnyOf(schema: JsonObject, root: JsonObject): JsonObject {
  const { oneOf, ...rest } = schema;
  if (!Array.isArray(oneOf) || 'anyOf' in rest) return schema;
  const forms = (oneOf as readonly JsonValue[]).map((form) => {
    const { $ref } = Object(form) as JsonObject;
    const target = typeof $ref === 'string' ? valueAtRef(root, $ref) : form;
    return Object(target) as JsonObject;
  });
  const isApart = Object.keys(Object(forms[0]?.['properties'])).some((name) => {
    const values = forms.flatMap(({ properties, required }) => {
      const isRequired = Array.isArray(required) && required.includes(name);
      return (isRequired && valuesOf((properties as JsonObject | undefined)?.[name])) || [forms];
    });
    const texts = values.map((value) => (value === forms ? '' : JSON.stringify(value)));
    return !texts.includes('') && new Set(texts).size === texts.length;
  });
  return isApart ? { ...rest, anyOf: oneOf as JsonValue } : schema;
}
