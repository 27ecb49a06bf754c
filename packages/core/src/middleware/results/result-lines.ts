import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';

/**
 * Returns the lines of a text. Splits a line over 1,000 characters, such as JSON without breaks.
 */
export function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|[\n\r]/).flatMap((line) => line.match(/.{1,1000}/gsu) ?? '');
}

/** Returns the number of texts, from the first, that together have at most `maxTokens` tokens. */
export function countFitting(
  texts: readonly string[],
  maxTokens: number,
  profile: TokenProfile,
): number {
  let tokens = 0;
  const largeIndex = texts.findIndex(
    (text) => (tokens += estimateTokens(`${text}\n`, profile)) > maxTokens,
  );
  return largeIndex < 0 ? texts.length : largeIndex;
}
