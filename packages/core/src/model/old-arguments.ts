import type { JsonObject } from '../message/json/json.ts';
import { jsonCopy } from '../message/json/parse-json.ts';
import type { ModelRequest } from './chat-model.ts';

/**
 * Removes the reference to an earlier response if a person edited the last reply. The provider's
 * stored response still has the old arguments.
 */
export function withoutOldArguments(request: ModelRequest): ModelRequest {
  const { providerOptions, messages } = request;
  const last = providerOptions && messages.findLast(({ role }) => role === 'assistant');
  if (!last?.metadata?.['edited']) return request;
  const isReference = (key: string): boolean => /^previous_?response_?id$/i.test(key);
  return { ...request, providerOptions: jsonCopy(providerOptions, isReference) as JsonObject };
}
