import { isRecord } from '../message/json/is-record.ts';
import type { JsonValue } from '../message/json/json.ts';
import type { Path } from '../schema/schema.ts';

/**
 * Returns a tool call's arguments without the `null` values that do not fit the schema. Models
 * write such values for optional arguments. `paths`: places that the validation rejected.
 */
export function dropNulls(input: JsonValue, paths: readonly Path[]): JsonValue {
  // The place of an error about the whole input says nothing about its fields.
  return without(
    input,
    paths.filter(({ length }) => length),
  );
}

function without(value: JsonValue, paths: readonly Path[]): JsonValue {
  if (!isRecord(value) || !paths.length) return value;
  if (Array.isArray(value))
    return value.map((item: JsonValue, index) => without(item, within(paths, String(index))));
  const kept = Object.entries(value).flatMap(([key, item]) => {
    const own = within(paths, key);
    return item === null && own.length ? [] : [[key, without(item, own)] as const];
  });
  return Object.fromEntries(kept);
}

/** Returns the paths that lead through a key, from there on. */
function within(paths: readonly Path[], key: string): readonly Path[] {
  return paths.flatMap(([first, ...rest]): readonly Path[] => {
    // A union is rejected as a whole, so any field in it may be the wrong one.
    if (first === undefined) return [[]];
    return first === key ? [rest] : [];
  });
}
