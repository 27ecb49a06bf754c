import { checkFields } from '../error/check-fields.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { friendlyText, ownWords, type FriendlyWords } from '../event/friendly-text.ts';
import type { Middleware } from '../agent/middleware.ts';

/**
 * Sets the `text` of a failed agent call's result to a text for the user (OxyGent:
 * `friendly_error_text`). The text is in the result with `throwOnError: false`, and in the event
 * `run-end`. `reason` and `error` do not change, and nothing is stored. An agent call that throws
 * still throws. `words` may be `errorMessage`. If the model has already written text, that text
 * stays. Throws `CONFIGURATION` if `words` is neither a string nor a function.
 */
export function friendlyErrors(words: FriendlyWords = ownWords): Middleware {
  checkFields('friendlyErrors()', { words }, 'words:string|function');
  const withWords = (result: AgentResult): AgentResult => {
    const { reason, error, text: said, message } = result;
    if (reason !== 'error' || !error || said) return result;
    const text = friendlyText(error, words);
    return { ...result, text, message: { ...message, content: [{ type: 'text', text }] } };
  };
  return {
    name: 'friendlyErrors',
    mapEvent: (event) =>
      event.type === 'run-end' ? { ...event, result: withWords(event.result) } : event,
  };
}
