import { textChecksum } from '../message/text.ts';

/** Returns an id of a tool call in the form that a server accepts. Pairs keep equal ids. */
export type FitCallId = (id: string) => string;

/** Names of Mistral's models. Other servers run them with Mistral's own rules. */
export const mistralModels: RegExp = /(mis|mix|minis|codes|devs|magis|pix)tral/i;

/**
 * Returns a function that fits the ids of tool calls to a server. Ids that fit stay unchanged, because
 * an id may have a meaning for the server that made it. `server`: host or provider of the server and
 * name of the model.
 *
 * Sources: [Mistral](https://mistralai.github.io/mistral-common/usage/tools/),
 * [Anthropic](https://github.com/farion1231/cc-switch/issues/1181),
 * [OpenAI, 40 characters](https://github.com/microsoft/autogen/issues/6377),
 * [Copilot](https://github.com/BerriAI/litellm/issues/17343),
 * [LiteLLM, signatures within ids](https://github.com/BerriAI/litellm/issues/16895).
 */
export function callIdFitter(server: string): FitCallId {
  if (mistralModels.test(server)) return (id) => (/^[a-z\d]{9}$/i.test(id) ? id : shortId(id));
  if (/openai|azure|anthropic|claude|bedrock|copilot|\bgpt-|\bo\d\b/i.test(server))
    return (id) => (/^[\w-]{1,40}$/.test(id) ? id : `call_${shortId(id)}`);
  return (id) => (/^[\w.:-]{1,64}$|__thought__/.test(id) ? id : `call_${shortId(id)}`);
}

/** Returns nine letters and digits that depend on the text alone. Two checksums make collisions rare. */
function shortId(text: string): string {
  const code = (part: string): string => textChecksum(part).toString(36).padStart(7, '0');
  return code(text) + code(`:${text}`).slice(-2);
}
