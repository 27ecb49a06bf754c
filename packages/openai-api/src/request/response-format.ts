import { fieldsOf } from '@isoloop/core/error';
import { fieldError, readSchema } from '@isoloop/core/host';
import type { StandardSchema } from '@isoloop/core/schema';
import { isRecord } from '@isoloop/core/message';
import type { JsonObject, JsonValue } from '@isoloop/core';
import { checkName, type RequestBody } from '@isoloop/edge/api';
import type { OpenAiApi } from './client-tools.ts';

/**
 * Function that returns a validator for a client's JSON Schema, such as `jsonSchema` of
 * `@isoloop/core/schema`.
 */
export type SchemaFactory = (schema: JsonObject) => StandardSchema;

/** A client's format of the answer: JSON. */
export interface ResponseFormat {
  /** Schema of the JSON. Default: any object or array. */
  readonly schema?: StandardSchema | JsonObject;
}

/**
 * Reads the format of the answer: `response_format` of chat completions, or `text.format` of the
 * Responses API. Returns `undefined` for text. Throws `INVALID_INPUT`, with the field's name, for
 * an invalid format.
 */
export function readResponseFormat(
  body: RequestBody,
  api: OpenAiApi,
  makeSchema?: SchemaFactory,
): ResponseFormat | undefined {
  const isChat = api === 'completions';
  const format = isChat ? body['response_format'] : fieldsOf(body['text'])['format'];
  const param = isChat ? 'response_format' : 'text.format';
  if (format == null) return undefined;
  const { type, json_schema: jsonSchema } = fieldsOf(format);
  if (type === 'text') return undefined;
  if (type === 'json_object') return {};
  if (type !== 'json_schema')
    throw fieldError(param, 'must be of the type "text", "json_object" or "json_schema"');
  const { name, schema } = fieldsOf(isChat ? jsonSchema : format);
  const path = isChat ? `${param}.json_schema` : param;
  checkName(name, `${path}.name`);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw fieldError(`${path}.schema`, 'must be a JSON Schema');
  }
  return { schema: usableSchema(schema as JsonObject, `${path}.schema`, makeSchema) };
}

function usableSchema(
  schema: JsonObject,
  param: string,
  makeSchema?: SchemaFactory,
): StandardSchema | JsonObject {
  try {
    const usable = makeSchema ? checkedSchema(schema, makeSchema) : schema;
    readSchema(param, usable);
    return usable;
  } catch {
    throw fieldError(param, 'is a JSON Schema that cannot be used');
  }
}

/** Returns a validator that does not use the patterns. The model reads the whole schema. */
function checkedSchema(schema: JsonObject, makeSchema: SchemaFactory): StandardSchema {
  const { '~standard': standard } = makeSchema(withoutPatterns(schema) as JsonObject);
  return { '~standard': { ...standard, jsonSchema: { input: () => schema } } };
}

/** Fields that say what may stand beside the fields that patterns allow. */
const openFields = /^(pattern|additional|unevaluated)Properties$/;

/**
 * Returns a schema without regular expressions. A client chooses both the expression and, through
 * the model, the text, and some expressions take hours for a short text.
 */
function withoutPatterns(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutPatterns);
  if (!isRecord(value)) return value;
  const isOpen = isRecord(value['patternProperties']);
  return Object.fromEntries(
    Object.entries(value as JsonObject).flatMap(([field, part]) => {
      // A property of the name `pattern` has a schema.
      if (field === 'pattern' && typeof part === 'string') return [];
      return isOpen && openFields.test(field) ? [] : [[field, withoutPatterns(part)]];
    }),
  );
}
