import { AgentError } from '@isoloop/core';
import { jsonMode } from '@isoloop/core/output';
import type { JsonObject } from '@isoloop/core';
import type { OutputMode } from '@isoloop/core/output';
import type { StandardSchema } from '@isoloop/core/tools';
import { invalidField } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';

/**
 * Function that returns a validator for a client's JSON Schema, such as `jsonSchema` of
 * `@isoloop/core/json-schema`.
 */
export type SchemaChecker = (schema: JsonObject) => StandardSchema;

/**
 * Reads the `response_format` of a chat-completions request. Returns `undefined` for text. Throws
 * `INVALID_INPUT`, with the field's name, for an invalid format.
 */
export function readResponseFormat(
  { response_format: format }: RequestBody,
  check?: SchemaChecker,
): OutputMode | undefined {
  if (format == null) return undefined;
  const { type, json_schema: named } = Object(format) as {
    readonly type?: unknown;
    readonly json_schema?: unknown;
  };
  if (type === 'text') return undefined;
  if (type === 'json_object') return jsonMode();
  if (type !== 'json_schema')
    throw invalidField(
      'response_format',
      'must be of the type "text", "json_object" or "json_schema"',
    );
  const { name, schema } = Object(named) as { readonly name?: unknown; readonly schema?: unknown };
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw invalidField(
      'response_format.json_schema.name',
      'must be 1 to 64 letters, digits, "_" and "-"',
    );
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw invalidField('response_format.json_schema.schema', 'must be a JSON Schema');
  }
  try {
    return jsonMode(check?.(schema as JsonObject) ?? (schema as JsonObject));
  } catch (cause) {
    const param = 'response_format.json_schema.schema';
    throw new AgentError('INVALID_INPUT', `\`${param}\` is a JSON Schema that cannot be used.`, {
      cause,
      details: { param },
    });
  }
}
