/**
 * Returns a name of a tool that every server accepts: at most 64 letters, digits, `_` and `-`, of
 * which the first is a letter. [Kimi](https://github.com/MoonshotAI/kimi-cli/issues/2531) and
 * [Gemini](https://github.com/google-gemini/gemini-cli/issues/2966) refuse other ones.
 */
export function toolNameOf(name: string): string {
  const plainName = name.replace(/[^\w-]/g, '_');
  return (/^[a-z]/i.test(plainName) ? plainName : `tool_${plainName}`).slice(0, 64);
}
