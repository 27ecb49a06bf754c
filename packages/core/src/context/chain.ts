import { checkFields } from '../error/check-fields.ts';
import { addUsage, type Usage } from '../model/usage.ts';
import { arc } from '../tokens/arc-profile.ts';
import type { ContextPolicy, ContextRequest, FittedContext } from '../loop/context-policy.ts';
import { requestCounter } from './request-counter.ts';

/**
 * Policies one after the other, each over what the one before has left; a policy that gives `done:
 * true` is the last. `before` and `after` are counted by the last link that counts for itself
 * (`fitContext`, `summarizeHistory`), else by `arc`. `CONFIGURATION` for a link that is no
 * function, and for what is no `FittedContext`.
 */
export function chain(...policies: readonly ContextPolicy[]): ContextPolicy {
  for (const policy of policies)
    checkFields('CONFIGURATION', 'chain()', { policy }, 'policy:function');
  const counting = policies.findLast(({ count }) => count);
  const count = counting?.count ?? requestCounter(arc);

  const fit = async (request: ContextRequest): Promise<FittedContext> => {
    let current = request;
    let removed = 0;
    let usage: Usage | undefined;
    let counted: FittedContext | undefined;
    let isDone = false;
    for (const policy of policies) {
      const fitted = await policy(current);
      checkFields(
        'CONFIGURATION',
        'What a policy gave',
        fitted,
        'messages:array removed:count before:count after:count',
      );
      removed += fitted.removed;
      if (fitted.usage) usage = usage ? addUsage(usage, fitted.usage) : fitted.usage;
      if (policy === counting) counted = fitted;
      const { messages, head = current.head } = fitted;
      current = { ...current, messages, ...(head !== undefined && { head }) };
      isDone = fitted.done === true;
      if (isDone) break;
    }
    const before = count(request);
    const { messages, head } = current;
    // Two lists in turn would have the counter begin anew with each.
    const after =
      messages === request.messages
        ? before
        : counted?.messages === messages
          ? counted.after
          : count(current);
    return {
      messages,
      removed,
      before,
      after,
      ...(head !== undefined && { head }),
      ...(usage && { usage }),
      ...(isDone && { done: true }),
    };
  };
  return Object.assign(fit, { count });
}
