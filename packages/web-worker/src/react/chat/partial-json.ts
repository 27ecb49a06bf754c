import type { JsonValue } from '@isoloop/core';
import { parseJson } from '@isoloop/core/adapter';

/** A string with its end, if it has arrived; a mark; or a number or a word. */
const tokens = /"(?:[^"\\]|\\u[\da-f]{4}|\\[^u])*("?)|[{}[\],:]|[^\s{}[\],:"]+/gi;

const startOfNumber = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/i;

/**
 * Returns the value in the beginning of a JSON text, as far as it has arrived. A string ends where
 * the text ends, and a word such as `tr` is complete. A key without a value is left out. Returns
 * `undefined` if there is no value yet, or if the text is no JSON.
 */
export function partialJson(text: string): JsonValue | undefined {
  const value = parseJson(text);
  return value === undefined ? parseJson(withClosedBrackets(text)) : value;
}

/** Returns the text up to the last value that can be shown, with its open brackets closed. */
function withClosedBrackets(text: string): string {
  let closedText = '';
  /** Closing brackets of the open values, the innermost first. */
  let closers = '';
  let isKey = false;
  for (const { 0: token, 1: quote, index } of text.matchAll(tokens)) {
    const isString = quote !== undefined;
    if (isKey && isString) continue;
    isKey = token === '{' || (token === ',' && closers.startsWith('}'));
    if (token === ',' || token === ':') continue;
    closers = closersAfter(closers, token);
    const end = isString && !quote ? `${token}"` : completeToken(token);
    if (end) closedText = text.slice(0, index) + end + closers;
    // What comes after an incomplete string is the beginning of an escape.
    if (!closers || quote === '') break;
  }
  return closedText;
}

/** Returns the closing brackets that are needed after a token. */
function closersAfter(closers: string, token: string): string {
  if (token === '{') return `}${closers}`;
  if (token === '[') return `]${closers}`;
  return token === '}' || token === ']' ? closers.slice(1) : closers;
}

/** Returns a finished token, or an empty text for a token without a value, such as `-`. */
function completeToken(token: string): string {
  if (/^["{}[\]]/.test(token)) return token;
  const word = ['true', 'false', 'null'].find((each) => each.startsWith(token));
  return word ?? startOfNumber.exec(token)?.[0] ?? '';
}
