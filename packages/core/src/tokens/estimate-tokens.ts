import { arc } from './arc-profile.ts';
import type { TokenProfile } from './token-profile.ts';

/** Tokens of a text, estimated without a vocabulary in one pass. Default profile: `arc`. */
export function estimateTokens(text: string, profile: TokenProfile = arc): number {
  return profile.countText(text);
}
