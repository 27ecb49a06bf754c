import { checkFields } from '../error/check-fields.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { Middleware } from '../loop/use/middleware.ts';

/** A text, or what makes one of a result's `error`. */
export type FriendlyWords = string | ((error: NonNullable<AgentResult['error']>) => string);

/**
 * Gives a call that failed words for its user as the result's `text` (OxyGent:
 * `friendly_error_text`); for `throwOnError: false`, and in `run-end`. Reason and `error` stay,
 * nothing is stored, and a call that throws throws as ever. `words` may be `errorMessage`. What the
 * model had said already is not replaced. Throws `CONFIGURATION` for what are no words.
 */
export function friendlyErrors(words: FriendlyWords = ownWords): Middleware {
  checkFields('CONFIGURATION', 'friendlyErrors()', { words }, 'words:string|function');
  const withWords = (result: AgentResult): AgentResult => {
    const { reason, error, text: said, message } = result;
    if (reason !== 'error' || !error || said) return result;
    const text = typeof words === 'string' ? words : wordsFor(words, error);
    return { ...result, text, message: { ...message, content: [{ type: 'text', text }] } };
  };
  return {
    name: 'friendlyErrors',
    mapEvent: (event) =>
      event.type === 'run-end' ? { ...event, result: withWords(event.result) } : event,
  };
}

const ownWords = 'Something went wrong on my side. Please try again.';

/** Words that fail must not hide the failure they are for. */
function wordsFor(
  words: Exclude<FriendlyWords, string>,
  error: Parameters<typeof words>[0],
): string {
  try {
    return String(words(error));
  } catch {
    return ownWords;
  }
}
