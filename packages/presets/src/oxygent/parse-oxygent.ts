import type { JsonObject, JsonValue } from '@isoloop/core';
import { argumentsIn } from '@isoloop/core/host';
import { isRecord } from '@isoloop/core/message';
import type { ParseContext, ParsedReply, TextCall } from '@isoloop/core/text-protocol';

const closingTag = '</think>';

/**
 * Parses a reply as OxyGent does. A JSON object with `tool_name` is a tool call; a JSON object
 * without it is invalid. If the request asks for a value, a JSON object without `tool_name` is an
 * answer. An incomplete tool call is an answer. If a reply has several code fences, the first
 * one counts. `NaN` and `Infinity` are valid, as in Python, and become `null`. A blank reply is
 * invalid.
 *
 * With `context.parallel`, a list of tool calls makes several tool calls, as OxyGent's document
 * says. Their `trust_mode` is ignored. Without `context.parallel`, a list of several tool calls is
 * invalid, as in OxyGent's code.
 */
export function parseOxygent(reply: string, context?: ParseContext): ParsedReply {
  const end = reply.lastIndexOf(closingTag);
  const text = end < 0 ? reply : strip(reply.slice(end + closingTag.length));
  const part = jsonPart(text);
  const several = context?.parallel ? parseList(part) : undefined;
  if (several) return several;
  const value = readPythonJson(objectIn(part));
  if (value === undefined) {
    if (['tool_name', 'arguments', '{', '}'].every((mark) => text.includes(mark)))
      return unreadable;
    return strip(text)
      ? { type: 'answer', text }
      : { type: 'invalid', message: 'Your reply is empty. Give an answer that helps.' };
  }
  if (isCall(value)) return { type: 'calls', calls: [callOf(value)] };
  return context?.replyFor === 'program' ? { type: 'answer', text } : nameless;
}

const unreadable: ParsedReply = {
  type: 'invalid',
  message: 'Your JSON cannot be read. Give your answer again.',
};
const nameless: ParsedReply = {
  type: 'invalid',
  message: 'Keep to the format exactly: a tool call needs "tool_name".',
};

/** Parses a list of several tool calls. Returns `undefined` if the text has no such list. */
function parseList(part: string): ParsedReply | undefined {
  const start = part.search(/\[\s*\{/);
  if (start < 0 || start > part.indexOf('{')) return undefined;
  const list = readPythonJson(part.slice(start, part.lastIndexOf(']') + 1));
  // If the list is incomplete, none of its tool calls runs.
  if (list === undefined) return part.split('"tool_name"').length > 2 ? unreadable : undefined;
  if (!Array.isArray(list) || list.length < 2 || !list.some(isCall)) return undefined;
  if (!list.every(isCall)) return nameless;
  const calls = list.map((item) => {
    const { returnDirect: _trust, ...call } = callOf(item);
    return call;
  });
  return { type: 'calls', calls };
}

function isCall(value: JsonValue): value is JsonObject {
  return isRecord(value) && Object.hasOwn(value, 'tool_name');
}

function callOf(value: JsonObject): TextCall {
  const { tool_name: name, arguments: args, think, trust_mode: trust } = value;
  return {
    name: typeof name === 'string' ? name : JSON.stringify(name ?? null),
    ...(args !== undefined && { arguments: args }),
    ...(typeof think === 'string' && think && { think }),
    // `true == 1` in Python.
    ...((trust === 1 || trust === true) && { returnDirect: true }),
  };
}

/** Returns the content of the first JSON code fence, or the whole text if there is none. */
function jsonPart(text: string): string {
  const [, fenced] = /```\n*json(.*?)```/s.exec(text) ?? [];
  return fenced === undefined ? text : strip(fenced);
}

function objectIn(part: string): string {
  if (part.startsWith('{') && part.endsWith('}')) return part;
  return part.slice(part.indexOf('{'), part.lastIndexOf('}') + 1);
}

/** Parses an object or a list as Python's `json` does. `NaN` and `Infinity` become `null`. */
function readPythonJson(text: string): JsonValue | undefined {
  const specialNumber = /"(?:[^"\\]|\\[^])*"|(?:NaN|-?Infinity)(?!\s*:)/g;
  const toJson = (token: string): string => (token[0] === '"' ? token : 'null');
  return parseJson(text) ?? parseJson(text.replace(specialNumber, toJson));
}

/**
 * Parses a text as the arguments of a tool call. Returns `undefined` for a text that is not JSON.
 */
function parseJson(text: string): JsonValue | undefined {
  return text ? (argumentsIn(text).input ?? undefined) : undefined;
}

/** Strips white space as Python's `strip()` does. */
function strip(text: string): string {
  return text.replace(new RegExp(`^${space}+|(?<!${space})${space}+$`, 'g'), '');
}

const space = '[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
