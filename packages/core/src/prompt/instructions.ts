import type { Middleware } from '../agent/middleware.ts';
import { invalidInput } from '../error/agent-error.ts';
import { isMessage } from '../message/is-message.ts';
import { markAsProgram } from '../message/metadata.ts';
import type { Msg } from '../message/msg.ts';
import { checkClientTexts } from './client-texts.ts';

/**
 * Adds messages to all model requests of one agent call, after the system prompt. The guards check
 * them with the input. They are never stored. Throws `INVALID_INPUT` for an item that is no
 * message.
 */
export function instructions(messages: readonly Msg[]): Middleware {
  const invalidIndex = messages.findIndex((item) => !isMessage(item));
  if (invalidIndex >= 0) {
    const where = `Item ${invalidIndex} of \`instructions\``;
    throw invalidInput(`${where} is no message. Create messages with systemMessage('…').`);
  }
  const checkedMessages: Msg[] = [];
  const take = (message: Msg | undefined): void => {
    if (message) checkedMessages.push(markAsProgram(message));
  };
  return {
    ...checkClientTexts(messages.map((message) => ({ message, take }))),
    wrapSettle: async (input, next, run) => {
      const outcome = await next(input);
      run.prompt.include(checkedMessages);
      return outcome;
    },
  };
}
