import { isRecord } from '../message/is-record.ts';
import type { JsonObject, JsonValue } from '../message/json.ts';

/** The keywords of a schema that matter here. */
interface Part {
  readonly $ref?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
  readonly properties?: JsonObject;
  readonly required?: readonly string[];
  readonly items?: unknown;
  readonly prefixItems?: readonly unknown[];
  readonly type?: unknown;
  readonly enum?: unknown;
}

/**
 * Returns the arguments without each `null` that stands for an optional argument. A `null` that the
 * schema allows stays, and so does one of a required argument. Nested objects and lists are
 * searched, too. `hidden`: parameters that the schema does not show.
 */
export function dropNulls(value: JsonValue, schema: unknown, hidden: JsonObject = {}): JsonValue {
  const without = (given: JsonValue, parts: readonly Part[]): JsonValue => {
    if (!isRecord(given)) return given;
    const schemasOf = (pick: (part: Part) => unknown): readonly Part[] =>
      parts.flatMap((part) => partsOf(pick(part), schema));
    if (Array.isArray(given))
      return given.map((item: JsonValue, index) =>
        without(
          item,
          schemasOf(({ items, prefixItems }) => prefixItems?.[index] ?? items),
        ),
      );
    const kept = Object.entries(given as JsonObject).flatMap(([key, item]) => {
      const own = schemasOf(({ properties }) => properties?.[key]);
      const isOptional =
        (given === value && Object.hasOwn(hidden, key)) ||
        parts.some(
          ({ properties = {}, required = [] }) =>
            Object.hasOwn(properties, key) && !required.includes(key),
        );
      const isDropped = item === null && isOptional && !own.some(allowsNull);
      return isDropped ? [] : [[key, without(item, own)] as const];
    });
    return Object.fromEntries(kept);
  };
  return without(value, partsOf(schema, schema));
}

/** Returns a schema within `root`, the schema it refers to, and the members of its unions. */
function partsOf(part: unknown, root: unknown, seen = new Set<unknown>()): readonly Part[] {
  if (!isRecord(part) || seen.has(part)) return [];
  seen.add(part);
  const { $ref, anyOf, oneOf } = part as Part;
  const [, ...path] = String($ref ?? '').split('/');
  const target = path.reduce((at: unknown, key) => (Object(at) as JsonObject)[key], root);
  const more = [$ref && target, anyOf, oneOf].flat();
  return [part, ...more.flatMap((member) => partsOf(member, root, seen))];
}

/** Keywords that can exclude `null`. */
const limiting = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'not', '$ref'];

/** Returns whether a part of a schema says that `null` is a value. */
function allowsNull(part: Part): boolean {
  return (
    [part.type].flat().includes('null') ||
    [part.enum].flat().includes(null) ||
    !limiting.some((keyword) => keyword in part)
  );
}
