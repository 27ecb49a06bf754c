import { isRecord } from '../../message/json/is-record.ts';
import type { JsonValue } from '../../message/json/json.ts';

/**
 * Returns a copy of a value in which `change` was applied to each string, number and field name. A
 * number that changes becomes a string.
 */
export function mapStrings(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number') {
    const text = change(String(value));
    return text === String(value) ? value : text;
  }
  if (!isRecord(value)) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => mapStrings(item, change));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      change(key),
      mapStrings(item as JsonValue, change),
    ]),
  );
}
