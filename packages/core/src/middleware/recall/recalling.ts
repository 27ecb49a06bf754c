import { addToHead } from '../../agent/add-to-head.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { isEnding } from '../../agent/next.ts';
import { perRun } from '../../agent/per-run.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Msg } from '../../message/msg.ts';
import { asOwn } from '../../message/own-message.ts';

/**
 * Finds messages for an agent call. `asked`: the new messages, else the prompt that the agent call
 * continues. It must end as soon as the context's signal aborts.
 */
export type Recall = (asked: readonly Msg[], context: RunContext) => Promise<readonly Msg[]>;

/**
 * Returns the wrappers that search once per agent call, before its first model request. The found
 * messages come right before the conversation in each model request. They are never stored.
 */
export function recalling(
  recall: Recall,
): Required<Pick<Middleware, 'wrapRun' | 'wrapSettle' | 'wrapRequest'>> {
  const found = perRun((): Msg[] => []);
  return {
    wrapRun: found.wrapRun,
    wrapSettle: (next) => async (input, context) => {
      const first = await next(input, context);
      if (isEnding(first) || context.stopped) return first;
      const { messages, promptId, runId } = context;
      const prompt = messages.filter(({ id }) => id === promptId);
      const recalled = await recall(input.messages.length ? input.messages : prompt, context);
      found.get(runId)?.push(...recalled.map(asOwn));
      return first;
    },
    wrapRequest: (next) => (draft, context) =>
      next(addToHead(draft, found.get(context.runId) ?? []), context),
  };
}
