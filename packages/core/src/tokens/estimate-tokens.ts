import { arc } from './arc-profile.ts';
import type { TokenProfile } from './token-profile.ts';

/**
 * Estimates the tokens of a text in one pass, without a vocabulary. The default profile is `arc`,
 * the heuristic of Arc Reactor. The fitted profiles (`o200k`, `claude5`, …) are more exact for
 * their models. Counts the text unchanged. If the model's tokenizer normalizes the text to NFC,
 * normalize it first. If the provider escapes characters as `\uXXXX`, escape them first.
 */
export function estimateTokens(text: string, profile: TokenProfile = arc): number {
  return Math.round(profile.countText(text));
}
