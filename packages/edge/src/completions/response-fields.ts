import type { ResponseRequest } from '../wire/responses/response-object.ts';
import { invalidField } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import { callFieldNames, checkType, pick, readObject } from './request-fields.ts';

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
    throw invalidField('text.verbosity', 'must be "medium"');
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
  if (!Array.isArray(include)) throw invalidField('include', 'must be a list');
  // Clients that store nothing always ask for encrypted reasoning, which may be missing.
  const index = include.findIndex((each) => each !== 'reasoning.encrypted_content');
  if (index >= 0)
    throw invalidField(`include[${index}]`, 'is not supported: the answer does not have it');
}

function checkReasoning(reasoning: unknown, thinking: boolean): void {
  const { summary } = readObject(reasoning, 'reasoning', ['summary']);
  if (summary == null) return;
  if (!['auto', 'concise', 'detailed'].includes(summary as string))
    throw invalidField('reasoning.summary', 'must be "auto", "concise" or "detailed"');
  if (!thinking)
    throw invalidField('reasoning.summary', 'is not supported: this endpoint shows no thinking');
}
