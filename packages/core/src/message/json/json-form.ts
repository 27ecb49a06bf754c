import { isError, messageOf, invalidInput } from '../../error/agent-error.ts';
import { isPlain } from './is-record.ts';
import type { JsonValue } from './json.ts';

/**
 * Returns a copy of a value as plain JSON. Returns `undefined` for `undefined`. Also converts maps,
 * sets, typed arrays, errors and `NaN`. Throws `INVALID_INPUT` for any other value without a JSON
 * form, such as a function, a cycle, or an object without readable fields. `what`: name of the whole
 * value in the error.
 */
export function jsonForm(value: unknown, what: string): JsonValue | undefined {
  if (value === undefined) return undefined;
  try {
    const text = JSON.stringify(value, evidentForm) as string | undefined;
    if (text === undefined) throw new Error(`it is a ${typeof value}`);
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw invalidInput(`${what} has no JSON form: ${messageOf(cause)}. Use plain JSON.`, { cause });
  }
}

/** Returns the array, plain object or primitive that represents a value in JSON. */
function evidentForm(key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (isError(value)) {
    const { name, message, cause } = value;
    return { ...value, name, message, cause };
  }
  // Works across realms, in contrast to `instanceof`.
  const kind = Object.prototype.toString.call(value);
  if (kind === '[object Map]')
    return Object.fromEntries(value as Iterable<readonly [string, unknown]>);
  if (kind === '[object Set]' || ArrayBuffer.isView(value))
    return [...(value as Iterable<unknown>)];
  if (isPlain(value) || Object.keys(value).length) return value;
  throw new Error(`the object "${key}" (${value.constructor?.name}) has no fields`);
}
