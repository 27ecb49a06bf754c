import { maskSecrets } from '../../error/mask-secrets.ts';
import type { JsonObject, JsonValue } from '../../message/json/json.ts';

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
