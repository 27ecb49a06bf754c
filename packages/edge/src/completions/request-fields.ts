import { checkNames, invalidField } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import type { OpenAiApi } from '../turn/client-tools.ts';

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
const neutral: readonly string[] = [
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
export function checkFields(body: RequestBody, api: OpenAiApi): void {
  const known = [...sharedFields, ...callFieldNames[api], ...otherFields[api]];
  for (const [field, value] of Object.entries(body)) {
    if (value == null || known.includes(field)) continue;
    if (neutral.includes(`${field} ${JSON.stringify(value)}`)) continue;
    const allowed = neutral.filter((each) => each.startsWith(`${field} `));
    const values = allowed.map((each) => each.slice(field.length + 1)).join(' or ');
    throw invalidField(field, values ? `must be ${values}` : 'is not supported');
  }
}

/** Returns the listed fields that the client has set. */
export function pick(body: RequestBody, fields: readonly string[]): RequestBody {
  const given = fields.filter((field) => body[field] != null);
  return Object.fromEntries(given.map((field) => [field, body[field]]));
}

/** Reads how the answer is streamed. Throws `INVALID_INPUT`, with the field's name. */
export function readStreaming(body: RequestBody): {
  readonly stream: boolean;
  readonly includeUsage: boolean;
} {
  const { stream, stream_options: options } = body;
  checkType(body, 'stream', 'boolean');
  if (options != null && stream !== true)
    throw invalidField('stream_options', 'needs `stream: true`');
  const given = readObject(options, 'stream_options', ['include_usage', 'include_obfuscation']);
  checkType(given, 'include_usage', 'boolean', 'stream_options.');
  if (given['include_obfuscation'])
    throw invalidField('stream_options.include_obfuscation', 'must be false: there is none');
  return { stream: stream === true, includeUsage: given['include_usage'] === true };
}

/** Throws `INVALID_INPUT` for a field of another type. `path`: place of the object. */
export function checkType(
  body: RequestBody,
  field: string,
  type: 'string' | 'boolean',
  path = '',
): void {
  const value = body[field];
  if (value != null && typeof value !== type) throw invalidField(path + field, `must be a ${type}`);
}

/** Returns the fields of an object. Throws `INVALID_INPUT` for a field with another name. */
export function readObject(value: unknown, param: string, names: readonly string[]): RequestBody {
  if (value == null) return {};
  if (!isObject(value)) throw invalidField(param, 'must be an object');
  checkNames(value, names, `${param}.`);
  return value;
}

function isObject(value: unknown): value is RequestBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
