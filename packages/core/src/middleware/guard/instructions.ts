import type { Middleware } from '../../agent/middleware.ts';
import type { Msg } from '../../message/msg.ts';
import { asOwn } from '../../message/metadata-keys.ts';
import { claimed } from './claims.ts';

/**
 * Adds messages to all model requests of one agent call, after the system prompt. The guards judge
 * them with the input. They are never stored.
 */
export function instructions(messages: readonly Msg[]): Middleware {
  const judged: Msg[] = [];
  const take = (left: Msg | undefined): void => void (left && judged.push(asOwn(left)));
  return {
    ...claimed(messages.map((message) => ({ message, take }))),
    wrapSettle: (next) => async (input, context, steps) => {
      const first = await next(input);
      steps.include(judged);
      return first;
    },
  };
}
