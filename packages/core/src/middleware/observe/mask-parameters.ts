import type { JsonValue } from '../../message/json/json.ts';

const secretWords =
  /(^|[_\-.])(passwords?|passwd|pwd|passphrase|token|secrets?|key|api_?keys|credentials?|apikey|authorization|cookie)([_\-.]|$)/;
const deepest = 32;

/**
 * Copies a value for logs and replaces each value whose key names a secret with `***`. For example,
 * `password`, `apiKey` and `x-access-token` are secrets, but not `keyword` and `maxTokens` (Arc
 * Reactor: `maskedParams`). `isSecret` replaces the built-in check of keys. Objects and arrays
 * below 32 levels become `…`.
 */
export function maskParameters(
  value: JsonValue,
  isSecret: (key: string) => boolean = namesSecret,
  depth = 0,
): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === deepest) return '…';
  const mask = (item: JsonValue): JsonValue => maskParameters(item, isSecret, depth + 1);
  if (Array.isArray(value)) return value.map(mask);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isSecret(key) ? '***' : mask(item)]),
  );
}

function namesSecret(key: string): boolean {
  return secretWords.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase());
}
