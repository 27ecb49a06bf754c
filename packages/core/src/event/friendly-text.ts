import type { AgentResult } from './agent-result.ts';

/** A text for the user, or a function that returns a text for the `error` of a result. */
export type FriendlyWords = string | ((error: NonNullable<AgentResult['error']>) => string);

export const ownWords = 'Something went wrong on my side. Please try again.';

/**
 * Returns the text for an error. If `words` throws, returns the default text, so that the original
 * error is not lost.
 */
export function friendlyText(
  error: NonNullable<AgentResult['error']>,
  words: FriendlyWords,
): string {
  if (typeof words === 'string') return words;
  try {
    return String(words(error));
  } catch {
    return ownWords;
  }
}
