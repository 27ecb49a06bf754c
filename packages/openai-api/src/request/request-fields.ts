import { fieldError } from '@isoloop/core/host';
import { isRecord } from '@isoloop/core/message';
import type { JsonObject } from '@isoloop/core';
import type { RequestBody } from '@isoloop/edge/api';
import type { ResponseRequest } from '../wire/responses/response-object.ts';

/** Returns the listed fields that the client has set. */
export function pick(body: RequestBody, fields: readonly string[]): RequestBody {
  const setFields = fields.filter((field) => body[field] != null);
  return Object.fromEntries(setFields.map((field) => [field, body[field]]));
}

/**
 * Reads how the answer is streamed. Without `stream`, its options have no effect. Throws
 * `INVALID_INPUT`, with the field's name.
 */
export function readStreaming(body: RequestBody): {
  readonly stream: boolean;
  readonly includeUsage: boolean;
} {
  checkType(body, 'stream', 'boolean');
  const options = readObject(body['stream_options'], 'stream_options');
  checkType(options, 'include_usage', 'boolean', 'stream_options.');
  return { stream: body['stream'] === true, includeUsage: options['include_usage'] === true };
}

/** Throws `INVALID_INPUT` for a field of another type. `path`: path of the object, with a dot. */
function checkType(body: RequestBody, field: string, type: 'string' | 'boolean', path = ''): void {
  const value = body[field];
  if (value != null && typeof value !== type) throw fieldError(path + field, `must be a ${type}`);
}

/** Returns the fields of an object. No value has no fields. Throws `INVALID_INPUT` for others. */
export function readObject(value: unknown, param: string): RequestBody {
  if (value == null) return {};
  if (!isRecord(value)) throw fieldError(param, 'must be an object');
  return value as RequestBody;
}

/**
 * Checks the fields that only the Responses API has, except `input` and those that `readCall`
 * reads. Throws `INVALID_INPUT`, with the field's name, for a value that is not supported.
 */
export function checkResponseFields(body: RequestBody): void {
  checkType(body, 'instructions', 'string');
  checkType(body, 'previous_response_id', 'string');
  checkType(body, 'store', 'boolean');
  const { summary } = readObject(body['reasoning'], 'reasoning');
  if (summary != null && !['auto', 'concise', 'detailed'].includes(summary as string))
    throw fieldError('reasoning.summary', 'must be "auto", "concise" or "detailed"');
}

/** Names of the fields that a response repeats, unless they have no effect. */
const repeatedNames = [
  'instructions',
  'max_output_tokens',
  'metadata',
  'previous_response_id',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
];

/** Returns the fields that the response repeats. `ignored`: names of fields without an effect. */
export function repeatedFields(body: RequestBody, ignored: readonly string[]): ResponseRequest {
  const { summary = null } = ignored.includes('reasoning.summary')
    ? {}
    : readObject(body['reasoning'], 'reasoning');
  const { format } = readObject(body['text'], 'text');
  const names = repeatedNames.filter((name) => !ignored.includes(name));
  return {
    ...pick(body, names),
    ...(format != null && { text: { format: format as JsonObject } }),
    reasoning: { effort: null, summary: summary as string | null },
  };
}
