import type { RequestDraft, RunContext } from './middleware.ts';
import { allowTools } from '../tool/set/tool-set.ts';

/**
 * Lets this request and the rest of the run use only the tools of these names. Returns the draft
 * with them. A change of `draft.tools` alone only hides tools: a model may still call them.
 *
 * @example
 * wrapRequest: (next) => (draft, context) => next(withTools(draft, context, ['search'])),
 */
export function withTools(
  draft: RequestDraft,
  context: RunContext,
  names: readonly string[],
): RequestDraft {
  context.setTools(allowTools(context.tools, names));
  return { ...draft, tools: draft.tools.filter(({ name }) => names.includes(name)) };
}
