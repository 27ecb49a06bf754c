import { textChecksum } from '../../message/text.ts';

/** Returns an id of a tool call in the form that a server accepts. Pairs keep equal ids. */
export type FitCallId = (id: string) => string;

/**
 * Ids that most servers accept. LiteLLM puts signatures into its ids, and needs them back
 * (https://github.com/BerriAI/litellm/issues/16895).
 */
const usualForm = /^[\w.:-]{1,64}$|__thought__/;

/**
 * Returns a function that fits the ids of tool calls to a server. Ids of the form `form` stay
 * unchanged, because an id may have a meaning for the server that made it.
 */
export function callIdFitter(form: RegExp = usualForm): FitCallId {
  return (id) => (form.test(id) ? id : shortCallId(id));
}

/** Returns nine letters and digits of a text. Two checksums make equal ids of two texts rare. */
function shortCallId(text: string): string {
  const code = (part: string): string => textChecksum(part).toString(36).padStart(7, '0');
  return code(text) + code(`:${text}`).slice(-2);
}
