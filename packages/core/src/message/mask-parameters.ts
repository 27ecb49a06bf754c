import { maskSecrets } from '../error/mask-secrets.ts';
import type { JsonObject, JsonValue } from './json.ts';

const secretWords =
  /(^|[_\-.])(passwords?|passwd|pwd|passphrase|token|secrets?|key|api_?keys|credentials?|apikey|authorization|cookie)([_\-.]|$)/;

/**
 * Copies a value for logs and replaces each value whose key names a secret with `***`. For example,
 * `password`, `apiKey` and `x-access-token` are secrets, but not `keyword` and `maxTokens`.
 * `isSecret` replaces the built-in check of keys. Source: Arc Reactor, `maskedParams`.
 */
export function maskParameters(
  value: JsonValue,
  isSecret: (key: string) => boolean = namesSecret,
): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  const mask = (item: JsonValue): JsonValue => maskParameters(item, isSecret);
  if (Array.isArray(value)) return value.map(mask);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isSecret(key) ? '***' : mask(item)]),
  );
}

function namesSecret(key: string): boolean {
  return secretWords.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase());
}

/**
 * Copies an event for a trace and replaces secrets in the texts of its errors: `AgentError`s and
 * failed tool results. With `isError`, the value is such a text or contains only such texts.
 */
export function maskErrors(value: JsonValue, isError = false): JsonValue {
  if (typeof value === 'string') return isError ? maskSecrets(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => maskErrors(item, isError));
  const { name, state } = value as JsonObject;
  const isFailed = name === 'AgentError' || state === 'error';
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, maskErrors(item, isError || isFailed)]),
  );
}
