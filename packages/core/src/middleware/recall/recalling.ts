import type { Middleware } from '../../agent/middleware.ts';
import { isEnding } from '../../agent/next.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Msg } from '../../message/msg.ts';
import { asOwn } from '../../message/own-message.ts';

/**
 * Finds messages for an agent call. `asked`: the new messages, else the prompt that the agent call
 * continues. It must end as soon as the context's `stopSignal` aborts.
 */
export type Recall = (asked: readonly Msg[], context: RunContext) => Promise<readonly Msg[]>;

/**
 * Returns the wrapper that searches once per agent call, before its first model request. The found
 * messages come right before the conversation in each model request. They are never stored.
 */
export function recalling(recall: Recall): Required<Pick<Middleware, 'wrapSettle'>> {
  return {
    wrapSettle: (next) => async (input, context, steps) => {
      const first = await next(input, context);
      if (isEnding(first) || context.stopped) return first;
      const { messages, promptId } = context;
      const prompt = messages.filter(({ id }) => id === promptId);
      const recalled = await recall(input.messages.length ? input.messages : prompt, context);
      steps.prepend(recalled.map(asOwn));
      return first;
    },
  };
}
