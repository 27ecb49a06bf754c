import { isObjectOrArray, isRecord, type JsonObject } from '../message/json.ts';
import {
  AgentError,
  errorText,
  fieldOf,
  misconfigured,
  invalidInput,
} from '../error/agent-error.ts';

/** Keys from the whole value to one value in it. */
export type Path = readonly string[];

/** Result of a check by a schema: the value, or the reasons why it does not fit. */
export type Validation<T> =
  | { readonly ok: true; readonly value: T }
  /**
   * `issues` are lines for the model. A line begins with the path of the value if the path is
   * known. `paths` are these paths.
   */
  | { readonly ok: false; readonly issues: readonly string[]; readonly paths?: readonly Path[] };

/**
 * Common interface of all schemas: the JSON Schema that the model gets, and a function that checks
 * a value.
 */
export interface Schema<T> {
  readonly jsonSchema: JsonObject;
  validate(value: unknown): Validation<T> | Promise<Validation<T>>;
}

type PathSegment = PropertyKey | { readonly key: PropertyKey };

interface Issue {
  readonly message: string;
  readonly path?: readonly PathSegment[] | undefined;
  /** Issues of each form of a union, with paths within the union (Zod). */
  readonly errors?: readonly (readonly Issue[])[] | undefined;
}

type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/**
 * Standard Schema v1 together with Standard JSON Schema v1 (standardschema.dev). Zod implements
 * both from version 4.2 on.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

/** Schema that `input` of a tool accepts. */
export type SchemaLike = StandardSchema | JsonObject;

/**
 * Type of the input that `execute` of a tool gets. It is the output type of the schema, or
 * `unknown` for plain JSON Schema. Without a schema it is `never`: the compiler then reports the
 * wrong option that stands in place of `input`, and not `execute`.
 */
export type InferOutput<S extends SchemaLike> = SchemaLike extends S
  ? never
  : S extends StandardSchema<infer _Input, infer _Output>
    ? NonNullable<S['~standard']['types']>['output']
    : unknown;

/** Type of the arguments that a caller writes: the input type of the schema, else `unknown`. */
export type InferInput<S extends SchemaLike> =
  S extends StandardSchema<infer _Input, infer _Output>
    ? NonNullable<S['~standard']['types']>['input']
    : unknown;

/**
 * Converts a Standard Schema or plain JSON Schema to a `Schema`. The model gets plain JSON Schema
 * unchanged. Of values, only an object at the root is checked. The tool gets a copy of its
 * arguments. The copy is made through JSON, because `structuredClone` takes several times as long.
 * Throws `CONFIGURATION` if the schema library provides no JSON Schema, or none for a type in the
 * schema. `where`: beginning of the error message.
 */
export function toSchema(source: SchemaLike, where = 'The schema'): Schema<unknown> {
  if (!('~standard' in source))
    return {
      jsonSchema: source,
      validate: (value) =>
        source['type'] !== 'object' || isRecord(value)
          ? { ok: true, value: JSON.parse(JSON.stringify(value)) as unknown }
          : { ok: false, issues: ['not an object'] },
    };
  const { vendor, jsonSchema, validate } = (source as StandardSchema)['~standard'];
  if (!jsonSchema)
    throw misconfigured(`${where}: the schema library "${vendor}" provides no JSON Schema.`);
  return {
    jsonSchema: readJsonSchema(jsonSchema, where),
    async validate(value) {
      const result = await validate(value);
      return result.issues ? toFailure(result.issues) : { ok: true, value: result.value };
    },
  };
}

/** Reads a schema. Throws `CONFIGURATION` if `source` is not a schema or has no JSON Schema. */
export function readSchema(where: string, source: SchemaLike): Schema<unknown> {
  if (!isRecord(source) && typeof source !== 'function')
    throw misconfigured(`${where} needs a schema.`);
  const schema = toSchema(source, `${where}: the schema`);
  try {
    // The model gets the schema as JSON, so this line throws if the schema has no JSON form.
    JSON.stringify(schema.jsonSchema);
    return schema;
  } catch (error) {
    throw AgentError.from(error, 'CONFIGURATION');
  }
}

function readJsonSchema(
  jsonSchema: StandardSchema['~standard']['jsonSchema'],
  where: string,
): JsonObject {
  try {
    // Removes `$schema`, which providers reject or ignore.
    const { $schema: _dialect, ...schema } = jsonSchema.input({ target: 'draft-2020-12' });
    return schema as JsonObject;
  } catch (cause) {
    const message = `${where} has no JSON Schema: ${errorText(cause)}. For a date, use z.iso.datetime().`;
    throw misconfigured(message, { cause });
  }
}

function toFailure(issues: readonly Issue[]): Validation<never> {
  const lines = issues.map((issue) =>
    [pathOf(issue).join('.'), issue.message].filter(Boolean).join(': '),
  );
  return { ok: false, issues: lines, paths: issues.flatMap(pathsOf) };
}

/** Returns the path of an issue. For a union, returns the paths that its forms reject. */
function pathsOf(issue: Issue): readonly Path[] {
  const path = pathOf(issue);
  const innerPaths = issue.errors?.flat().flatMap(pathsOf) ?? [[]];
  return innerPaths.map((rest) => [...path, ...rest]);
}

function pathOf({ path = [] }: Issue): Path {
  // A segment is a key, or an object with a key.
  return path.map((segment) => String(fieldOf(segment, 'key') ?? segment));
}

/**
 * Returns the JSON Schema of a tool's input: an object with these fields and no others. Default of
 * `required`: all fields.
 */
export function objectInput(
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
): JsonObject {
  return { type: 'object', properties, required: [...required], additionalProperties: false };
}

/**
 * Returns a text in a tool's input. Throws `INVALID_INPUT`, which the model reads, for a blank one.
 */
export function textIn(input: unknown, field: string): string {
  const text = isObjectOrArray(input) ? input[field] : undefined;
  if (typeof text === 'string' && text.trim()) return text.trim();
  throw invalidInput(`${field}: a string that is not empty`);
}
