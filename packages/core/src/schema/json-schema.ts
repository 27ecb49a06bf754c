import { errorText, misconfigured, type AgentError } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { anything } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import {
  dereference,
  validate,
  type Schema as JsonSchemaNode,
  type SchemaDraft,
} from '@cfworker/json-schema';
import { isRecord, type JsonObject } from '../message/json.ts';
import { checkJsonSchema } from './check-json-schema.ts';
import { readerOf, toIssues } from './json-schema-issues.ts';
import type { StandardSchema } from './schema.ts';

/** How to read a JSON Schema that does not name its draft. */
export interface JsonSchemaOptions {
  /** Draft of JSON Schema if the schema has no `$schema`. Default: `2020-12`. */
  readonly draft?: JsonSchemaDraft;
}

/** Version of JSON Schema. */
export type JsonSchemaDraft = '4' | '7' | '2019-09' | '2020-12';

/** Maximum number of references that a check of a value follows. */
const maxReferences = 300_000;

type CompiledSchema = StandardSchema<unknown, unknown>;

const compiledSchemas: WeakMap<object, Map<SchemaDraft, CompiledSchema>> = new WeakMap();

/**
 * Checks values against plain JSON Schema, for `tool({ input })` and `structured()`.
 *
 * ```ts
 * const place = jsonSchema<{ city: string }>({
 *   type: 'object',
 *   properties: { city: { type: 'string' } },
 *   required: ['city'],
 * });
 * ```
 *
 * Supports drafts 4, 7, 2019-09 and 2020-12, and `$ref` within the schema. Known
 * formats are checked. Defaults are not filled in: a valid value is returned unchanged. `T` is the
 * type of valid values, which the caller must ensure. Uses `@cfworker/json-schema`, which works
 * without `eval`.
 *
 * A check follows at most 300,000 references, because those of a small schema can multiply. A value
 * that needs more is not valid.
 *
 * A schema is compiled once. The same object returns the same result, and later changes to the
 * object have no effect. Throws `CONFIGURATION`, with the pointer in the schema, for a mistake that
 * the validator would reject or ignore. Examples are an unknown type, draft or `$ref`, and a
 * pattern that is not a regular expression.
 */
export function jsonSchema<T = unknown>(
  schema: JsonObject,
  options: JsonSchemaOptions = {},
): StandardSchema<T, T> {
  if (!isRecord(schema)) throw misconfigured('A JSON Schema must be an object.');
  checkOptions('jsonSchema()', options, jsonSchemaOptions);
  const draft = draftOf(schema['$schema'], options.draft);
  const byDraft = compiledSchemas.get(schema) ?? new Map<SchemaDraft, CompiledSchema>();
  const found = byDraft.get(draft) ?? compile(schema, draft);
  compiledSchemas.set(schema, byDraft.set(draft, found));
  return found as StandardSchema<T, T>;
}

const jsonSchemaOptions: OptionTable<JsonSchemaOptions> = { draft: anything };

function compile(schema: JsonObject, draft: SchemaDraft): CompiledSchema {
  // Uses a copy: the library writes into the schema, and the caller's object may be frozen or
  // change later.
  const root = copyOf(schema);
  const lookup = prepareLookup(root);
  checkJsonSchema(root, lookup);
  return {
    '~standard': {
      version: 1,
      vendor: 'isoloop',
      validate: (value) => {
        try {
          const { valid, errors } = validate(value, root, draft, countedLookup(lookup), false);
          return valid ? { value } : { issues: toIssues(errors, readerOf(root, lookup)) };
        } catch (error) {
          // The value is nested too deeply, or it is not JSON, or the references multiply.
          return { issues: [{ message: `could not be checked: ${errorText(error)}` }] };
        }
      },
      jsonSchema: { input: () => root as Record<string, unknown> },
    },
  };
}

/** Schemas by their addresses. */
type Lookup = Record<string, JsonSchemaNode | boolean>;

/**
 * Returns a view of `lookup` that throws after `maxReferences` reads. A small schema whose
 * references multiply at each level would otherwise block the process for hours.
 */
function countedLookup(lookup: Lookup): Lookup {
  let count = 0;
  return new Proxy(lookup, {
    get: (schemas, address: string) => {
      count += 1;
      if (count > maxReferences) throw new Error('the references of its JSON Schema multiply');
      return schemas[address];
    },
  });
}

function copyOf(schema: JsonObject): JsonSchemaNode {
  try {
    return JSON.parse(JSON.stringify(schema)) as JsonSchemaNode;
  } catch (error) {
    throw schemaError('The JSON Schema cannot be written as JSON', error);
  }
}

function prepareLookup(root: JsonSchemaNode): Lookup {
  try {
    return dereference(root);
  } catch (error) {
    throw schemaError('The JSON Schema has an invalid "$id" or "$ref"', error);
  }
}

function schemaError(what: string, cause: unknown): AgentError {
  return misconfigured(`${what}: ${errorText(cause)}`, { cause });
}

function draftOf(schemaUri: unknown, otherwise: SchemaDraft = '2020-12'): SchemaDraft {
  const name = schemaUri ?? otherwise;
  const [, numberedDraft, datedDraft] =
    /^(?:https?:\/\/json-schema\.org\/draft(?:-0([467])|\/(2019-09|2020-12))\/schema#?)$/.exec(
      String(name),
    ) ?? [];
  const draft = numberedDraft === '6' ? '7' : (numberedDraft ?? datedDraft ?? name);
  if (draft === '4' || draft === '7' || draft === '2019-09' || draft === '2020-12') return draft;
  const message = `${JSON.stringify(name)} is not a known draft of JSON Schema.`;
  throw misconfigured(`${message} Use 4, 7, 2019-09 or 2020-12.`);
}
