import { AgentError } from '../error/agent-error.ts';

/** A provider's key; a function is asked before each request. */
export type ApiKey = string | (() => string | Promise<string>);

/**
 * The header that brings the key; none without one. Rejects with `CONFIGURATION` where it cannot be
 * sent, `MODEL_AUTH` where it cannot be had.
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
