import { AgentError } from '../error/agent-error.ts';
import type { ModelContext } from '../model/chat-model.ts';
import type { HttpModelOptions } from './http-model-options.ts';
import type { HttpRequest } from './http-transport.ts';

/**
 * Returns the parts of a request that are alike for every provider. Rejects with `CONFIGURATION` if
 * the key has characters that cannot be sent. Rejects with `MODEL_AUTH` if the function `apiKey`
 * fails, or if the provider's own server would get no key.
 */
export async function httpRequest(
  options: HttpModelOptions,
  context: ModelContext,
): Promise<Omit<HttpRequest, 'url' | 'body'>> {
  const { apiKey, baseURL, fetch, headers } = options;
  try {
    const given = typeof apiKey === 'function' ? apiKey() : apiKey;
    const key = (await given)?.trim();
    if (key && !/^[!-~]+$/.test(key))
      throw new AgentError('CONFIGURATION', 'The API key has characters that cannot be sent.');
    const isOwnServer = baseURL === undefined && !fetch;
    if (!key && isOwnServer && !new Headers(headers).has('authorization'))
      throw new Error('The API key is missing. Set apiKey or baseURL.');
    const own = key && { authorization: `Bearer ${key}` };
    return { ...options, ...context, headers: { ...own, ...headers } };
  } catch (error) {
    throw AgentError.from(error, 'MODEL_AUTH');
  }
}
