import { invalidInput } from '../../error/agent-error.ts';
import { checkId } from '../../error/options/check-id.ts';

/** Beginning of the keys of each kind of stored value. One store may hold all kinds. */
export const keyPrefix = {
  session: 's:',
  result: 'result:',
  summary: 'summary:',
} as const;

/** Keys in the `state` of a session's log. */
export const titleKey = 'title';
export const valuesKey = 'values';
export const groupsKey = 'groups';
export const signatureKey = 'signature';

/** Returns the keys of `count` values that belong together: `first`, `first:1`, `first:2`, … */
export function valueKeys(firstKey: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => (index ? `${firstKey}:${index}` : firstKey));
}

/**
 * Percent-encodes text for a key. Throws `INVALID_INPUT` for a value that is not a string, and for
 * text that is blank, malformed or, encoded, longer than `limit` characters.
 */
export function encodeForKey(text: string, what: string, limit: number): string {
  checkId(text, what);
  let encodedText = '';
  try {
    encodedText = encodeURIComponent(text);
  } catch {
    // The text has a lone surrogate; the error below rejects it.
  }
  if (encodedText && encodedText.length <= limit) return encodedText;
  const rule = `well-formed text of 1 to ${limit} characters, percent-encoded`;
  throw invalidInput(`The ${what} must be ${rule}`);
}
