import { isObject } from '../../message/json/is-record.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { parseJson } from '../../message/json/parse-json.ts';
import type { TextCall } from './parsed-reply.ts';

export type FoundCalls = { readonly calls: readonly TextCall[] } | { readonly problem: string };

/**
 * Finds the tool calls of a JSON value, which is an object with `tool_name` or a list of such
 * objects. Returns `undefined` if no object has `tool_name`.
 */
export function callsIn(value: JsonValue): FoundCalls | undefined {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  if (!items.some((item) => isObject(item) && 'tool_name' in item)) return undefined;
  const calls: TextCall[] = [];
  for (const [index, item] of items.entries()) {
    const call = toCall(item);
    if (typeof call === 'string')
      return { problem: items.length > 1 ? `Item ${index + 1} of the list: ${call}` : call };
    calls.push(call);
  }
  return { calls };
}

/**
 * Parses JSON that a model wrote. Accepts unescaped line breaks and tabs in strings, because models
 * often write them.
 */
export function readJson(text: string): JsonValue | undefined {
  const escaped = (string: string): string => string.replace(/[\n\r\t]/g, (c) => escapes[c]!);
  return parseJson(text) ?? parseJson(text.replace(/"(?:[^"\\]|\\[^])*"/g, escaped));
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns the tool call, or a text that says what is wrong. */
function toCall(item: JsonValue): TextCall | string {
  if (!isObject(item) || !('tool_name' in item)) return 'it is not an object with "tool_name".';
  const { tool_name: name, arguments: given, think, trust_mode: trust } = item;
  if (typeof name !== 'string' || !name.trim()) return '"tool_name" is not the name of a tool.';
  if (given === undefined)
    return `"arguments" is missing in the call of "${name}": give an object, or {} if there are none.`;
  const args = typeof given === 'string' ? readJson(given) : given;
  if (!isObject(args))
    return `"arguments" in the call of "${name}" is ${kindOf(given)}, not an object.`;
  return {
    name: name.trim(),
    arguments: args,
    ...(typeof think === 'string' && think.trim() && { think }),
    ...((trust === 1 || trust === true) && { returnDirect: true }),
  };
}

function kindOf(value: JsonValue): string {
  if (typeof value === 'string') return 'a string that holds no JSON object';
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
