import { AgentError } from '../error/agent-error.ts';
import { arc } from './arc-profile.ts';
import type { TokenProfile } from './token-profile.ts';

/**
 * Tokens of a text, estimated without a vocabulary in one pass. Default profile: `arc`, the
 * heuristic of Arc Reactor; the fitted ones (`o200k`, `claude5`, …) are nearer to their models. The
 * text is estimated as it is: what a model's tokenizer normalises (NFC) or the wire escapes
 * (`\uXXXX`) is the caller's to do first. `INVALID_INPUT` for what is no text.
 */
export function estimateTokens(text: string, profile: TokenProfile = arc): number {
  if (typeof text !== 'string')
    throw new AgentError('INVALID_INPUT', `A text is needed, not ${typeof text}.`);
  return Math.round(profile.countText(text));
}
