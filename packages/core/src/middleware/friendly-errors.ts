import { checkFields } from '../error/check-fields.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { Middleware } from '../loop/use/middleware.ts';

/** A text, or a function that returns one for a result's `error`. */
export type FriendlyWords = string | ((error: NonNullable<AgentResult['error']>) => string);

/**
 * Sets a text for the user as the result's `text` if a call failed (OxyGent:
 * `friendly_error_text`). It applies to `throwOnError: false` and to `run-end`. Reason and `error`
 * stay, nothing is stored, and a call that throws still throws. `words` may be `errorMessage`. Text
 * that the model has already written is not replaced. Throws `CONFIGURATION` if `words` is neither
 * a string nor a function.
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

/** Returns the text for an error. If `words` throws, the default text must not hide the failure. */
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
