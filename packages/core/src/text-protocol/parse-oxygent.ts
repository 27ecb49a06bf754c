import type { JsonObject, JsonValue } from '../message/json.ts';
import { parseJson } from '../message/parse-json.ts';
import type { ParseContext } from './parse-tool-calls.ts';
import type { ParsedReply } from './parsed-reply.ts';

/**
 * Parses a reply as OxyGent does, with one call per reply. Any other JSON object in a reply is
 * invalid. A cut-off call is an answer, and of several fences the first counts. `NaN` and
 * `Infinity` are valid, as in Python. A blank reply is invalid. If the request asks for a value, a
 * JSON object is an answer.
 */
export function parseOxygent(reply: string, context?: ParseContext): ParsedReply {
  const end = reply.lastIndexOf('</think>');
  const text = end < 0 ? reply : strip(reply.slice(end + 8));
  const value = readPythonJson(jsonPart(text));
  if (value === undefined) {
    if (['tool_name', 'arguments', '{', '}'].every((part) => text.includes(part))) {
      return { type: 'invalid', message: 'Your JSON cannot be read. Give your answer again.' };
    }
    return strip(text)
      ? { type: 'answer', text }
      : { type: 'invalid', message: 'Your reply is empty. Give an answer that helps.' };
  }
  if (!Object.hasOwn(value, 'tool_name')) {
    if (context?.replyIs === 'value') return { type: 'answer', text };
    return {
      type: 'invalid',
      message: 'Keep to the format exactly: a tool call needs "tool_name".',
    };
  }
  const { tool_name: name, arguments: given, think, trust_mode: trust } = value;
  const call = {
    name: typeof name === 'string' ? name : JSON.stringify(name ?? null),
    ...(given !== undefined && { arguments: given }),
    ...(typeof think === 'string' && think && { think }),
    // `true == 1` in Python.
    ...((trust === 1 || trust === true) && { returnDirect: true }),
  };
  return { type: 'calls', calls: [call] };
}

function jsonPart(text: string): string {
  const [, fenced] = /```\n*json(.*?)```/s.exec(text) ?? [];
  const part = fenced === undefined ? text : strip(fenced);
  if (part.startsWith('{') && part.endsWith('}')) return part;
  return part.slice(part.indexOf('{'), part.lastIndexOf('}') + 1);
}

/** Parses an object as Python's `json` does. */
function readPythonJson(text: string): JsonObject | undefined {
  const plain = parseJson(text);
  if (plain !== undefined || !/NaN|Infinity/.test(text)) return plain as JsonObject | undefined;
  let mark = 'number:';
  while (text.includes(mark)) mark += ':';
  const marked = text.replace(/"(?:[^"\\]|\\[^])*"|(?:NaN|-?Infinity)(?!\s*:)/g, (token) =>
    token[0] === '"' ? token : `"${mark}${token}"`,
  );
  const value = parseJson(marked);
  return value === undefined ? undefined : (unmark(value, mark) as JsonObject);
}

function unmark(value: JsonValue, mark: string): JsonValue {
  if (typeof value === 'string')
    return value.startsWith(mark) ? Number(value.slice(mark.length)) : value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => unmark(item, mark));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, unmark(item as JsonValue, mark)]),
  );
}

/** Strips white space as Python's `strip()` does. */
function strip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text[start]!)) start++;
  while (end > start && isSpace(text[end - 1]!)) end--;
  return text.slice(start, end);
}

function isSpace(c: string): boolean {
  return (c.trim() === '' && c !== '\ufeff') || (c >= '\u001c' && c <= '\u001f') || c === '\u0085';
}
