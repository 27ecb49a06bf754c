import { AgentError } from '../error/agent-error.ts';

/** Key of a provider; a function is called before each request. */
export type ApiKey = string | (() => string | Promise<string>);

/**
 * Returns the header with the key, or no header without a key. Rejects with `CONFIGURATION` if the
 * key cannot be sent, and `MODEL_AUTH` if the function fails to provide it.
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
