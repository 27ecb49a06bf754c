import type { ResponseRequest } from '@isoloop/core/openai';
import { invalidField } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';

/** Fields of a Responses API request that the endpoint reads. */
const supported: ReadonlySet<string> = new Set([
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'metadata',
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'reasoning',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
]);

/** Fields without effect on the answer, which never leave the endpoint. */
const ignored: ReadonlySet<string> = new Set([
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'user',
]);

/** Fields that can only have the values of a request without them. */
const fixed: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['background', [false]],
  ['service_tier', ['auto', 'default']],
  ['top_logprobs', [0]],
  ['top_p', [1]],
  ['truncation', ['disabled']],
]);

/**
 * Checks the fields of a Responses API request, except `input` and those that `readCall` reads.
 * Throws `INVALID_INPUT`, with the field's name, for a field or value that is not supported.
 */
export function checkResponseFields(body: RequestBody): void {
  for (const [field, value] of Object.entries(body)) {
    if (value == null || supported.has(field) || ignored.has(field)) continue;
    const allowed = fixed.get(field) ?? [];
    if (allowed.includes(value)) continue;
    const values = allowed.map((each) => JSON.stringify(each)).join(' or ');
    throw invalidField(field, values ? `must be ${values}` : 'is not supported');
  }
  checkType(body, 'instructions', 'string', 'a text');
  checkType(body, 'previous_response_id', 'string', 'the id of a response');
  checkType(body, 'store', 'boolean', 'a boolean');
  checkType(body, 'stream', 'boolean', 'a boolean');
  checkStreamOptions(body);
  checkInclude(body['include']);
  checkReasoning(body['reasoning']);
  checkMetadata(body['metadata']);
  checkNames(body['text'], 'text', ['format']);
}

/** Returns the fields that the response repeats. */
export function repeatedFields(body: RequestBody): ResponseRequest {
  const fields = [
    'instructions',
    'max_output_tokens',
    'metadata',
    'parallel_tool_calls',
    'previous_response_id',
    'temperature',
    'text',
    'tool_choice',
    'tools',
  ];
  const given = fields.flatMap((field) => (body[field] == null ? [] : [[field, body[field]]]));
  return {
    ...(Object.fromEntries(given) as ResponseRequest),
    ...(asksSummaries(body) && { reasoning: { effort: null, ...Object(body['reasoning']) } }),
  };
}

/** Returns whether the client asks for reasoning summaries. */
export function asksSummaries({ reasoning }: RequestBody): boolean {
  return (Object(reasoning) as RequestBody)['summary'] != null;
}

function checkType(body: RequestBody, field: string, type: string, expected: string): void {
  const value = body[field];
  if (value != null && typeof value !== type) throw invalidField(field, `must be ${expected}`);
}

function checkStreamOptions({ stream, stream_options: options }: RequestBody): void {
  if (options == null) return;
  if (stream !== true) throw invalidField('stream_options', 'needs `stream: true`');
  const fields = checkNames(options, 'stream_options', ['include_obfuscation']);
  if (fields['include_obfuscation'] != null && fields['include_obfuscation'] !== false)
    throw invalidField('stream_options.include_obfuscation', 'must be false: there is none');
}

function checkInclude(include: unknown): void {
  if (include == null) return;
  if (!Array.isArray(include)) throw invalidField('include', 'must be a list');
  // Clients that store nothing always ask for encrypted reasoning, which may be missing.
  const index = include.findIndex((each) => each !== 'reasoning.encrypted_content');
  if (index >= 0)
    throw invalidField(`include[${index}]`, 'is not supported: the answer does not have it');
}

function checkReasoning(reasoning: unknown): void {
  const { summary } = checkNames(reasoning, 'reasoning', ['summary']);
  if (summary != null && !['auto', 'concise', 'detailed'].includes(summary as string))
    throw invalidField('reasoning.summary', 'must be "auto", "concise" or "detailed"');
}

function checkMetadata(metadata: unknown): void {
  if (metadata == null) return;
  const values = isObject(metadata) ? Object.values(metadata) : [undefined];
  if (values.length > 16 || values.some((value) => typeof value !== 'string'))
    throw invalidField('metadata', 'must be an object with at most 16 texts');
}

/** Returns the fields of an object. Throws for a field without one of the names. */
function checkNames(value: unknown, param: string, names: readonly string[]): RequestBody {
  if (value == null) return {};
  if (!isObject(value)) throw invalidField(param, 'must be an object');
  const other = Object.keys(value).find((name) => value[name] != null && !names.includes(name));
  if (other !== undefined) throw invalidField(`${param}.${other}`, 'is not supported');
  return value;
}

function isObject(value: unknown): value is RequestBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
