import type { RequestDraft, InnerStep } from '@isoloop/core/agent';
import type { Run, ModelRequest, Usage } from '@isoloop/core';
import {
  contextPolicy,
  type ContextMiddleware,
  type ContextPolicy,
  type ContextRequest,
  type FittedContext,
} from '@isoloop/core/context';
import { addUsage, noUsage } from '@isoloop/core/model';

/** Combines context policies as an agent does. */
export function inTurn(...policies: readonly ContextPolicy[]): ContextMiddleware {
  return contextPolicy({ fit: (request) => fitInTurn(policies, request) });
}

/** Passes a request through context policies as an agent does. */
export async function fitInTurn(
  policies: readonly ContextPolicy[],
  { messages, fixedCount = 0, tools, addedLater = [], ...about }: ContextRequest,
): Promise<FittedContext> {
  let usage = noUsage;
  const addMore = (more: Usage = noUsage): void => {
    usage = addUsage(usage, more);
  };
  const run = {
    ...about,
    model: { ...about.model, addUsage: addMore },
    ending: { addToResult: () => {} },
    events: { emit: async () => {} },
  } as unknown as Run;
  const results: FittedContext[] = [];
  let draft: RequestDraft = {
    messages,
    fixedCount,
    tools,
    addedLater,
    options: {},
    mustAsk: false,
  };
  const last: InnerStep<RequestDraft, ModelRequest> = async (given) => {
    draft = given;
    return given;
  };
  const first = policies.reduceRight((next, policy) => {
    const kept: ContextPolicy = {
      async fit(...given) {
        const result = await policy.fit(...given);
        results.push(result);
        return result;
      },
    };
    const { wrapRequest } = contextPolicy(kept);
    return (given) => wrapRequest!(given, next, run) as Promise<ModelRequest>;
  }, last);
  await first(draft);
  const removed = results.reduce((sum, result) => sum + result.removed, 0);
  const { before = 0 } = results[0] ?? {};
  const { after = 0 } = results.at(-1) ?? {};
  return { messages: draft.messages, removed, before, after, usage };
}
