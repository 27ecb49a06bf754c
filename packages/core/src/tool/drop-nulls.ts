import { isRecord } from '../message/json/is-record.ts';
import type { JsonValue } from '../message/json/json.ts';
import type { Path } from '../schema/schema.ts';

/**
 * Returns a tool call's arguments without the `null` values that do not fit the schema. Models
 * write such values for optional arguments. `paths`: places that the validation rejected.
 */
export function dropNulls(value: JsonValue, paths: readonly Path[]): JsonValue {
  if (!isRecord(value) || !paths.length) return value;
  const within = (key: string): readonly Path[] =>
    paths.flatMap(([first, ...rest]) => (first === key ? [rest] : []));
  if (Array.isArray(value))
    return value.map((item: JsonValue, index) => dropNulls(item, within(String(index))));
  const kept = Object.entries(value).flatMap(([key, item]) => {
    const own = within(key);
    return item === null && own.length ? [] : [[key, dropNulls(item, own)] as const];
  });
  return Object.fromEntries(kept);
}
