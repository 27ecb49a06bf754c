import { isError, messageOf, invalidInput } from '../../error/agent-error.ts';
import { isPlain, isRecord } from './is-record.ts';
import type { JsonValue } from './json.ts';

/**
 * Returns a copy of a value as plain JSON. Returns `undefined` for `undefined`. Also converts maps,
 * sets, typed arrays, errors and `NaN`. Throws `INVALID_INPUT` for any other value, such as a
 * function, a cycle, or an object without readable fields. The error names the invalid value and
 * its place. `what`: name of the whole value in the error.
 */
export function jsonForm(value: unknown, what: string): JsonValue | undefined {
  try {
    return toJson(value, '', new Set());
  } catch (cause) {
    const why = cause instanceof NoJson ? cause.message : `cannot be read: ${messageOf(cause)}`;
    throw invalidInput(`${what} has no JSON form: it ${why}. Use plain JSON.`, { cause });
  }
}

class NoJson extends Error {}

function toJson(value: unknown, path: string, parents: Set<unknown>): JsonValue | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value === 'bigint' || isCode(value)) throw noJson(value, path);
  if (!isRecord(value)) return value as JsonValue | undefined;
  if (parents.has(value)) throw new NoJson(`contains itself${at(path)}`);
  parents.add(value);
  const form = evidentForm(value);
  const json = isRecord(form)
    ? fieldsToJson(form, value, path, parents)
    : toJson(form, path, parents);
  parents.delete(value);
  return json;
}

/** Returns the array, plain object or primitive that represents an object in JSON. */
function evidentForm(value: object): unknown {
  const { toJSON } = value as { readonly toJSON?: unknown };
  const kind = kindOf(value);
  if (kind === 'Date' && Number.isNaN(Number(value))) return String(value);
  if (typeof toJSON === 'function') return toJSON.call(value, '') as unknown;
  if (isError(value)) {
    const { name, message, cause } = value;
    return { ...value, name, message, cause };
  }
  if (kind === 'Map') return Object.fromEntries(value as Map<PropertyKey, unknown>);
  if (kind === 'Set' || ArrayBuffer.isView(value)) return [...(value as Iterable<unknown>)];
  return value;
}

function fieldsToJson(form: object, value: object, path: string, parents: Set<unknown>): JsonValue {
  if (Array.isArray(form))
    return Array.from(form, (item, index) => toJson(item, `${path}[${index}]`, parents) ?? null);
  // Leaves out functions and `undefined`, as JSON does. An object with only functions has no JSON
  // form.
  const fields = Object.entries(form).filter(([, item]) => item !== undefined);
  const kept = fields.filter(([, item]) => !isCode(item));
  if (!kept.length && (fields.length || !isPlain(form))) throw noJson(value, path);
  return Object.fromEntries(
    kept.map(([name, item]) => [name, toJson(item, `${path}.${name}`, parents) ?? null]),
  );
}

function isCode(value: unknown): boolean {
  return typeof value === 'function' || typeof value === 'symbol';
}

/** Returns the built-in kind of an object, such as `Map`. Works across realms. */
function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

function noJson(value: unknown, path: string): NoJson {
  return new NoJson(`${path ? 'has' : 'is'} ${nameOf(value)}${at(path)}`);
}

function nameOf(value: unknown): string {
  if (!isRecord(value)) return `a ${typeof value}`;
  const kind = kindOf(value);
  const name = kind === 'Object' ? value.constructor?.name : kind;
  const hint = name === 'Promise' ? ' that was not awaited' : ' without fields';
  return `an object (${name})${hint}`;
}

function at(path: string): string {
  return path && ` at "${path.replace(/^\./, '')}"`;
}
