import { friendlyText, type FriendlyText } from '@isoloop/core/event';
import type { AgentResult, Middleware } from '@isoloop/core';
import { checkFields, either, func, string } from '@isoloop/core/options';

/** The text of a failed result for users whom nobody told more. */
export const defaultErrorText = 'Something went wrong on my side. Please try again.';

/**
 * Sets the `text` of a failed agent call's result to a text for the user (OxyGent:
 * `friendly_error_text`). The text is in the result with `throwOnError: false`, and in the event
 * `run-end`. `reason` and `error` do not change, and nothing is stored. An agent call that throws
 * still throws. `text` may be `userErrorText`. If the model has already written text, that text
 * stays. Throws `CONFIGURATION` if `text` is neither a string nor a function.
 */
export function friendlyErrors(text: FriendlyText = defaultErrorText): Middleware {
  checkFields('friendlyErrors()', { text }, { text: either(string, func) });
  const withText = (result: AgentResult): AgentResult => {
    const { reason, error } = result;
    if (reason !== 'error' || !error || result.text) return result;
    const userText = friendlyText(error, text);
    const content = [{ type: 'text', text: userText }] as const;
    return { ...result, text: userText, message: { ...result.message, content } };
  };
  return {
    name: 'friendlyErrors',
    mapEvent: (event) =>
      event.type === 'run-end' ? { ...event, result: withText(event.result) } : event,
  };
}
