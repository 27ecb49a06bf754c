import type { RequestDraft, Step } from '../src/agent/middleware.ts';
import type { RunContext } from '../src/agent/run-context.ts';
import type { Steps } from '../src/agent/steps.ts';
import {
  contextPolicy,
  type ContextMiddleware,
  type ContextPolicy,
  type ContextRequest,
  type FittedContext,
} from '../src/middleware/context/context-policy.ts';
import type { ModelRequest } from '../src/model/chat-model.ts';
import { addUsage, noUsage, type Usage } from '../src/model/usage.ts';

/** Combines context policies as an agent does. */
export function inTurn(...policies: readonly ContextPolicy[]): ContextMiddleware {
  return contextPolicy({ fit: (request) => fitInTurn(policies, request) });
}

/** Passes a request through context policies as an agent does. */
export async function fitInTurn(
  policies: readonly ContextPolicy[],
  { messages, head = 0, tools, beside, ...about }: ContextRequest,
): Promise<FittedContext> {
  let usage = noUsage;
  const context = {
    ...about,
    addUsage(more: Usage = noUsage) {
      usage = addUsage(usage, more);
    },
  } as RunContext;
  const steps = { warn: () => {} } as unknown as Steps;
  let draft: RequestDraft = { messages, head, tools, beside, options: {}, isAsked: false };
  const last: Step<RequestDraft, ModelRequest> = async (given) => {
    draft = given;
    return given;
  };
  const first = policies.reduceRight((next, policy) => {
    const outer = contextPolicy(policy).wrapRequest!(next);
    return (given) => outer(given, context, steps) as Promise<ModelRequest>;
  }, last);
  await first(draft, context);
  const { removed = 0, before = 0, after = 0 } = draft.fitted ?? {};
  return { messages: draft.messages, removed, before, after, usage };
}
