import { isObjectOrArray, isRecord } from '../../packages/core/src/message/json.ts';
import { join, pathsOf, type Place, type RequestRule, type Wire } from './request-rule.ts';

type FunctionsOf = (request: Place) => readonly Place[];

/** Returns the rule about the root of the parameters. `field`: field of a function with them. */
export function objectSchemas(functionsOf: FunctionsOf, field: string): RequestRule {
  return {
    id: 'object-schema',
    text: 'The schema of parameters has the type object, and no union at its root.',
    source: 'https://github.com/langchain-ai/langchainjs/issues/9804',
    find: (request) => pathsOf(functionsOf(request), (called) => !isObjectRoot(called[field])),
  };
}

/** Returns the rule about the properties of the parameters. */
export function schemaProperties(functionsOf: FunctionsOf, field: string): RequestRule {
  return {
    id: 'schema-properties',
    text: 'The schema of parameters lists its properties, even if there are none.',
    source: 'https://github.com/langchain-ai/langchain-mcp-adapters/issues/137',
    find: (request) => pathsOf(functionsOf(request), (called) => !hasProperties(called[field])),
  };
}

/** Returns the rule about arrays in the parameters. */
export function arrayItems(functionsOf: FunctionsOf, field: string): RequestRule {
  return {
    id: 'array-items',
    text: 'An array in the schema of parameters says what its items are.',
    source: 'https://github.com/bnb-chain/bnbchain-mcp/issues/68',
    find: (request) =>
      functionsOf(request).flatMap(({ path, value }) =>
        bareArrays(value[field], join(path, field)),
      ),
  };
}

/** Returns the paths of the arrays without `items` within a schema. */
function bareArrays(schema: unknown, path: string): readonly string[] {
  if (!isRecord(schema)) return [];
  const { type, items } = schema;
  const isBare = [type].flat().includes('array') && items === undefined;
  return [
    ...(isBare ? [path] : []),
    ...innerSchemas(schema, path).flatMap(({ value, path: at }) => bareArrays(value, at)),
  ];
}

/** Keywords that the root of a function's parameters may not have. */
const rootKeywords = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];

/** Returns whether a server accepts the root of the parameters. A tool may have no parameters. */
function isObjectRoot(parameters: unknown): boolean {
  if (parameters === undefined) return true;
  if (!isRecord(parameters) || parameters['type'] !== 'object') return false;
  return rootKeywords.every((keyword) => parameters[keyword] === undefined);
}

/** Returns whether an object at the root lists its properties, even if it has none. */
function hasProperties(parameters: unknown): boolean {
  if (!isRecord(parameters) || parameters['type'] !== 'object') return true;
  return isRecord(parameters['properties']);
}

/** Keywords that strict mode refuses. */
const looseKeywords = new Set([
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'prefixItems',
  'patternProperties',
]);

/** Formats of a string that strict mode accepts. */
const strictFormats = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** Keywords whose value has a schema for each name. */
const schemaMaps = new Set(['properties', '$defs', 'definitions']);
/** Keywords whose value is an example, not a schema. */
const values = new Set(['enum', 'const', 'default', 'examples']);

/** Returns the parts of a schema that strict mode refuses, if it is on. */
export function strictProblems({ path, value }: Place, field: string): readonly string[] {
  return value['strict'] === true ? looseParts(value[field], join(path, field)) : [];
}

/** Returns the paths within a schema that strict mode refuses. */
function looseParts(schema: unknown, path: string): readonly string[] {
  if (!isRecord(schema)) return [];
  const isLoose = ([keyword, value]: readonly [string, unknown]): boolean =>
    looseKeywords.has(keyword) || (keyword === 'format' && !strictFormats.has(String(value)));
  const keywords = Object.entries(schema).filter(isLoose);
  return [
    ...looseObject(schema, path),
    ...keywords.map(([keyword]) => join(path, keyword)),
    ...innerSchemas(schema, path).flatMap(({ value, path: at }) => looseParts(value, at)),
  ];
}

interface SchemaPlace {
  readonly path: string;
  readonly value: unknown;
}

/** Returns what may be a schema directly within a schema. */
function innerSchemas(schema: Wire, path: string): readonly SchemaPlace[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (values.has(keyword)) return [];
    const at = join(path, keyword);
    if (!schemaMaps.has(keyword) && !Array.isArray(value)) return [{ path: at, value }];
    return entriesOf(value).map(([name, item]) => ({ path: join(at, name), value: item }));
  });
}

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isObjectOrArray(value) ? Object.entries(value) : [];

/** Strict mode wants each property to be required, and no others. */
function looseObject(schema: Wire, path: string): readonly string[] {
  const { type, properties, required, additionalProperties } = schema;
  if (type !== 'object' && !isRecord(properties)) return [];
  const listed: readonly unknown[] = Array.isArray(required) ? required : [];
  const names = Object.keys(isRecord(properties) ? properties : {});
  const isStrict = additionalProperties === false && names.every((name) => listed.includes(name));
  return isStrict ? [] : [path];
}
