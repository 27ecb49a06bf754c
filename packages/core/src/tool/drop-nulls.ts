import { isRecord } from '../message/json/is-record.ts';
import type { JsonObject, JsonValue } from '../message/json/json.ts';

/** Keywords of a JSON Schema that `dropNulls` reads. */
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
 * Returns a tool call's arguments without each `null` that a model wrote for an optional argument.
 * Keeps a `null` if the schema allows it or if the argument is required. Also searches nested
 * objects and lists. `hidden`: parameters of the tool that the schema does not list.
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

/**
 * Returns a schema, the schema that its `$ref` names, and the members of its unions. `root`: the
 * whole schema.
 */
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

/** Returns whether one part of a schema allows `null`. */
function allowsNull(part: Part): boolean {
  return (
    [part.type].flat().includes('null') ||
    [part.enum].flat().includes(null) ||
    !limiting.some((keyword) => keyword in part)
  );
}
