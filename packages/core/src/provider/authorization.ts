import { AgentError } from '../error/agent-error.ts';

/**
 * API key of a provider, or a function that returns it. The function is called before each request.
 */
export type ApiKey = string | (() => string | Promise<string>);

/**
 * Returns the authorization header, or no header without a key. Rejects with `CONFIGURATION` if the
 * key has characters that cannot be sent. Rejects with `MODEL_AUTH` if the function fails.
 */
export async function authorization(apiKey: ApiKey | undefined): Promise<Record<string, string>> {
  try {
    const given = typeof apiKey === 'function' ? apiKey() : apiKey;
    const key = (await given)?.trim();
    if (key && !/^[!-~]+$/.test(key))
      throw new AgentError('CONFIGURATION', 'The API key has characters that cannot be sent');
    return key ? { authorization: `Bearer ${key}` } : {};
  } catch (error) {
    throw AgentError.from(error, 'MODEL_AUTH');
  }
}
