import { AgentError } from '../error/agent-error.ts';
import type { JsonObject } from '../message/json.ts';
import type { Schema, Validation } from './schema.ts';

type PathSegment = PropertyKey | { readonly key: PropertyKey };

interface Issue {
  readonly message: string;
  readonly path?: readonly PathSegment[] | undefined;
}

type StandardResult<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** Standard Schema v1 with Standard JSON Schema v1 (standardschema.dev), as Zod 4.2 and later implement both. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

/** What a tool's `input` may be. */
export type SchemaLike = StandardSchema | JsonObject;

/** What `execute` is given for a schema: its output type; `unknown` for plain JSON Schema. */
export type InferOutput<S extends SchemaLike> =
  S extends StandardSchema<infer _Input, infer _Output> ? NonNullable<S['~standard']['types']>['output'] : unknown;

/**
 * One interface over Standard Schema and plain JSON Schema. Plain JSON Schema goes to the model as it is and is not checked.
 * The JSON Schema of a Standard Schema is derived at its first use. Throws `CONFIGURATION` for anything else.
 */
export function toSchema(source: SchemaLike): Schema<unknown> {
  if (!isStandard(source)) return { jsonSchema: source, validate: (value) => ({ ok: true, value }) };
  const standard = source['~standard'];
  if (typeof standard.jsonSchema?.input !== 'function') {
    throw new AgentError(
      'CONFIGURATION',
      `The schema library "${standard.vendor}" gives no JSON Schema (Standard JSON Schema v1); pass plain JSON Schema.`,
    );
  }
  let jsonSchema: JsonObject | undefined;
  return {
    get jsonSchema() {
      return (jsonSchema ??= deriveJsonSchema(standard));
    },
    validate(value) {
      const result = standard.validate(value);
      return result instanceof Promise ? result.then(toValidation) : toValidation(result);
    },
  };
}

function isStandard(source: SchemaLike): source is StandardSchema {
  return '~standard' in source;
}

function deriveJsonSchema(standard: StandardSchema['~standard']): JsonObject {
  // Providers refuse or ignore the keyword; what is left is the schema itself.
  const { $schema: _dialect, ...schema } = standard.jsonSchema.input({ target: 'draft-2020-12' });
  return schema as JsonObject;
}

function toValidation<T>(result: StandardResult<T>): Validation<T> {
  if (!result.issues) return { ok: true, value: result.value };
  return { ok: false, issues: result.issues.map(({ path, message }) => (path?.length ? `${formatPath(path)}: ${message}` : message)) };
}

function formatPath(path: readonly PathSegment[]): string {
  return path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.');
}
