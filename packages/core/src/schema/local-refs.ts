import { isObjectOrArray, type JsonObject, type JsonValue } from '../message/json.ts';

/**
 * Returns the value in `root` that a reference such as `#/$defs/Node` names, if there is one. Does
 * not follow `$id` and `$anchor`.
 */
export function valueAtRef(root: JsonObject, ref: string): JsonValue | undefined {
  const [start, ...keys] = ref.split('/');
  let value: unknown = start === '#' ? root : undefined;
  for (const key of keys) {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    value = isObjectOrArray(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value as JsonValue | undefined;
}

/** A reference to the root or to a place in it, but not to a definition. */
const rootRef = /^#(?=$|\/(?!\$defs\/|definitions\/))/;

/**
 * Returns a copy of a schema whose root moves to `place`, such as `#/properties/response`.
 * References to definitions stay, because definitions move to the new root.
 */
export function withMovedRefs(schema: JsonObject, place: string): JsonObject {
  const json = JSON.stringify(schema, (key, value: unknown) => {
    const isRef = key === '$ref' && typeof value === 'string';
    return isRef ? value.replace(rootRef, () => place) : value;
  });
  return JSON.parse(json) as JsonObject;
}
