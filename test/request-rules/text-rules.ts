import { isRecord, parseJson } from '../../packages/core/src/message/json.ts';
import { malformedTexts } from '../../packages/core/src/testing/malformed-texts.ts';
import type { RequestRule } from './request-rule.ts';

/** A strict JSON parser refuses half an emoji, also within the JSON text of arguments. */
export const wellFormedText: RequestRule = {
  id: 'well-formed-text',
  text: 'No string may contain a lone surrogate (half an emoji).',
  source: 'https://github.com/anthropics/claude-code/issues/2108',
  find: ({ value, path }) => malformedTexts(value, path),
};

/** Returns whether a value is the JSON text of an object. */
export function isObjectText(text: unknown): boolean {
  return typeof text === 'string' && isRecord(parseJson(text));
}

/** Returns whether a value is the name of a function that OpenAI and most other servers accept. */
export function isFunctionName(name: unknown): boolean {
  return typeof name === 'string' && /^[\w-]{1,64}$/.test(name);
}
