import { isObjectOrArray, isRecord, parseJson } from '../../message/json.ts';
import { join, type RequestRule } from './request-rule.ts';

/** Matches half of a surrogate pair that has no other half. */
const loneSurrogate = /\p{Surrogate}/u;

/** A strict JSON parser refuses half an emoji, also within the JSON text of arguments. */
export const wellFormedText: RequestRule = {
  id: 'well-formed-text',
  text: 'No string may contain a lone surrogate (half an emoji).',
  source: 'https://github.com/anthropics/claude-code/issues/2108',
  find: ({ value, path }) => malformedPaths(value, path),
};

function malformedPaths(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') {
    if (loneSurrogate.test(value)) return [path];
    // The server parses the arguments of a call, too.
    return path.endsWith('.arguments') ? malformedPaths(parseJson(value), path) : [];
  }
  if (!isObjectOrArray(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    const itemPath = Array.isArray(value) ? `${path}[${name}]` : join(path, name);
    return [...(loneSurrogate.test(name) ? [itemPath] : []), ...malformedPaths(item, itemPath)];
  });
}

/** Returns whether a value is the JSON text of an object. */
export function isObjectText(text: unknown): boolean {
  return typeof text === 'string' && isRecord(parseJson(text));
}

/** Returns whether a value is the name of a function that OpenAI and most other servers accept. */
export function isFunctionName(name: unknown): boolean {
  return typeof name === 'string' && /^[\w-]{1,64}$/.test(name);
}
