import type { Middleware } from '../../agent/middleware.ts';
import { markAsProgram } from '../../message/metadata.ts';
import type { Msg } from '../../message/msg.ts';
import { checkClientTexts } from './client-texts.ts';

/**
 * Adds messages to all model requests of one agent call, after the system prompt. The guards check
 * them with the input. They are never stored.
 */
export function instructions(messages: readonly Msg[]): Middleware {
  const checkedMessages: Msg[] = [];
  const take = (message: Msg | undefined): void =>
    void (message && checkedMessages.push(markAsProgram(message)));
  return {
    ...checkClientTexts(messages.map((message) => ({ message, take }))),
    wrapSettle: (next) => async (input, context, steps) => {
      const first = await next(input);
      steps.include(checkedMessages);
      return first;
    },
  };
}
