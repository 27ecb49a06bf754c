import { AgentError } from '../error/agent-error.ts';
import { arc } from './arc-profile.ts';
import type { TokenProfile } from './token-profile.ts';

/**
 * Estimates the tokens of a text in one pass, without a vocabulary. The default profile is `arc`,
 * the heuristic of Arc Reactor. The fitted profiles (`o200k`, `claude5`, …) are more exact for
 * their models. Counts the text unchanged. If the model's tokenizer normalizes the text to NFC,
 * normalize it first. If the provider escapes characters as `\uXXXX`, escape them first. Throws
 * `INVALID_INPUT` if `text` is not a string.
 */
export function estimateTokens(text: string, profile: TokenProfile = arc): number {
  if (typeof text !== 'string')
    throw new AgentError('INVALID_INPUT', `estimateTokens() needs a string, not ${typeof text}.`);
  return Math.round(profile.countText(text));
}
