import { isRecord } from '@isoloop/core/adapter';
import { checkNames, fieldError } from '../http/request-body.ts';
import type { OpenAiApi } from '../turn/client-tools.ts';
import type { ResponseRequest } from '../wire/responses/response-object.ts';
import type { RequestBody } from '../http/request-body.ts';

type Fields = Readonly<Record<OpenAiApi, readonly string[]>>;

/** Settings of the agent call in both APIs. */
const sharedCallFields = ['parallel_tool_calls', 'temperature', 'tool_choice', 'tools', 'top_p'];

/** Settings of the agent call, which `readCall` reads. */
export const callFieldNames: Fields = {
  completions: [
    ...sharedCallFields,
    'max_completion_tokens',
    'max_tokens',
    'response_format',
    'seed',
    'stop',
  ],
  responses: [...sharedCallFields, 'instructions', 'max_output_tokens', 'text'],
};

/** Other fields of one API, which the endpoint reads. */
const otherFields: Fields = {
  completions: ['messages'],
  responses: ['include', 'input', 'previous_response_id', 'reasoning', 'store'],
};

/**
 * Other fields of both APIs. The endpoint reads them, or ignores them because they do not change
 * the answer.
 */
const sharedFields: readonly string[] = [
  'metadata',
  'model',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'stream',
  'stream_options',
  'user',
];

/** Fields that can only have this value, as JSON. It means the same as no value. */
const neutralFields: readonly string[] = [
  'background false',
  'frequency_penalty 0',
  'functions []',
  'logit_bias {}',
  'logprobs false',
  'modalities ["text"]',
  'n 1',
  'presence_penalty 0',
  'service_tier "auto"',
  'service_tier "default"',
  'store false',
  'top_logprobs 0',
  'truncation "disabled"',
  'verbosity "medium"',
];

/**
 * Checks which fields a request has. The same rules hold for both APIs. Throws `INVALID_INPUT`,
 * with the field's name, for a field or value that the endpoint would have to ignore although it
 * changes the answer. Does not check the values of the fields that the endpoint reads.
 */
export function checkAllowedFields(body: RequestBody, api: OpenAiApi): void {
  const readFields = [...sharedFields, ...callFieldNames[api], ...otherFields[api]];
  for (const [field, value] of Object.entries(body)) {
    if (value == null || readFields.includes(field)) continue;
    if (neutralFields.includes(`${field} ${JSON.stringify(value)}`)) continue;
    const allowedFields = neutralFields.filter((each) => each.startsWith(`${field} `));
    const values = allowedFields.map((each) => each.slice(field.length + 1)).join(' or ');
    throw fieldError(field, values ? `must be ${values}` : 'is not supported');
  }
}

/** Returns the listed fields that the client has set. */
export function pick(body: RequestBody, fields: readonly string[]): RequestBody {
  const setFields = fields.filter((field) => body[field] != null);
  return Object.fromEntries(setFields.map((field) => [field, body[field]]));
}

/** Reads how the answer is streamed. Throws `INVALID_INPUT`, with the field's name. */
export function readStreaming(body: RequestBody): {
  readonly stream: boolean;
  readonly includeUsage: boolean;
} {
  const { stream, stream_options: options } = body;
  checkType(body, 'stream', 'boolean');
  if (options != null && stream !== true)
    throw fieldError('stream_options', 'needs `stream: true`');
  const streamFields = readObject(options, 'stream_options', [
    'include_usage',
    'include_obfuscation',
  ]);
  checkType(streamFields, 'include_usage', 'boolean', 'stream_options.');
  if (streamFields['include_obfuscation'])
    throw fieldError('stream_options.include_obfuscation', 'must be false: there is none');
  return { stream: stream === true, includeUsage: streamFields['include_usage'] === true };
}

/** Throws `INVALID_INPUT` for a field of another type. `path`: path of the object, with a dot. */
export function checkType(
  body: RequestBody,
  field: string,
  type: 'string' | 'boolean',
  path = '',
): void {
  const value = body[field];
  if (value != null && typeof value !== type) throw fieldError(path + field, `must be a ${type}`);
}

/** Returns the fields of an object. Throws `INVALID_INPUT` for a field with another name. */
export function readObject(value: unknown, param: string, names: readonly string[]): RequestBody {
  if (value == null) return {};
  if (!isRecord(value)) throw fieldError(param, 'must be an object');
  checkNames(value, names, `${param}.`);
  return value;
}

/**
 * Checks the fields that only the Responses API has, except `input` and those that `readCall`
 * reads. `thinking`: whether the answer shows the model's thinking. Throws `INVALID_INPUT`, with
 * the field's name, for a value that is not supported.
 */
export function checkResponseFields(body: RequestBody, thinking: boolean): void {
  checkType(body, 'instructions', 'string');
  checkType(body, 'previous_response_id', 'string');
  checkType(body, 'store', 'boolean');
  checkInclude(body['include']);
  checkReasoning(body['reasoning'], thinking);
  const { verbosity } = readObject(body['text'], 'text', ['format', 'verbosity']);
  if (verbosity != null && verbosity !== 'medium')
    throw fieldError('text.verbosity', 'must be "medium"');
}

/** Returns the fields that the response repeats. */
export function repeatedFields(body: RequestBody): ResponseRequest {
  return {
    ...pick(body, [...callFieldNames.responses, 'metadata', 'previous_response_id']),
    reasoning: { effort: null, summary: null, ...Object(body['reasoning']) },
  };
}

function checkInclude(include: unknown): void {
  if (include == null) return;
  if (!Array.isArray(include)) throw fieldError('include', 'must be a list');
  // Clients that store nothing always ask for encrypted reasoning, which may be missing.
  const index = include.findIndex((each) => each !== 'reasoning.encrypted_content');
  if (index >= 0)
    throw fieldError(`include[${index}]`, 'is not supported: the answer does not have it');
}

function checkReasoning(reasoning: unknown, thinking: boolean): void {
  const { summary } = readObject(reasoning, 'reasoning', ['summary']);
  if (summary == null) return;
  if (!['auto', 'concise', 'detailed'].includes(summary as string))
    throw fieldError('reasoning.summary', 'must be "auto", "concise" or "detailed"');
  if (!thinking)
    throw fieldError('reasoning.summary', 'is not supported: this endpoint shows no thinking');
}
