import type { ParsedInput } from '../event/agent-input.ts';
import type { Middleware } from '../agent/middleware.ts';
import { misconfigured, type AgentError } from '../error/agent-error.ts';
import { createMessage, type Msg } from '../message/msg.ts';
import type { JsonValue } from '../message/json.ts';
import { mapStrings } from '../message/message-texts.ts';

/** Something that a client sent and the model will read, as a message for the guards. */
export interface ClientText {
  readonly message: Msg;
  /**
   * Gets the message after the guards: the same object if they did not change it, or `undefined` if
   * they removed it. Its text has to be used. Throw if that is not possible, because the unchecked
   * text must not be used.
   */
  readonly take: (checked: Msg | undefined) => void | Promise<void>;
}

/**
 * Returns the error for a guard that removed or joined parts of what a client sent, although the
 * request needs all of them.
 */
export function clientTextError(): AgentError {
  return misconfigured(
    'A guard removed or joined parts of a decision, the history or declarations. It may only change texts.',
  );
}

/** Returns a message with all strings of a JSON value, such as the schema of a client's tool. */
export function jsonClientText(value: JsonValue, take: (checked: JsonValue) => void): ClientText {
  const texts: string[] = [];
  mapStrings(value, (text) => {
    texts.push(text);
    return text;
  });
  const content = texts.map((text) => ({ type: 'text', text }) as const);
  const message = createMessage('user', content);
  return {
    message,
    take(checked) {
      if (checked === message) return;
      const newTexts = checked?.content.flatMap((block) =>
        block.type === 'text' ? [block.text] : [],
      );
      // The position of a text in the list says where it belongs in the value.
      if (newTexts?.length !== texts.length) throw clientTextError();
      take(mapStrings(value, () => newTexts.shift()!));
    },
  };
}

/** Lets the guards check texts of a client together with the input of one agent call. */
export function checkClientTexts(clientTexts: readonly ClientText[]): Middleware {
  return {
    wrapInput: (input, next) =>
      input.arrivedDuringRun === undefined
        ? checkWithClientTexts(clientTexts, input, (fullInput) => next(fullInput))
        : next(input),
  };
}

/**
 * Passes an input through `check` with the texts of a client before its own messages. Gives each
 * text its checked message, and returns the checked input without these messages.
 */
export async function checkWithClientTexts(
  clientTexts: readonly ClientText[],
  input: ParsedInput,
  check: (fullInput: ParsedInput) => Promise<ParsedInput>,
): Promise<ParsedInput> {
  const clientMessages = clientTexts.map(({ message }) => message);
  const checkedInput = await check({ ...input, messages: [...clientMessages, ...input.messages] });
  const byId = new Map(checkedInput.messages.map((message) => [message.id, message]));
  for (const { message, take } of clientTexts) await take(byId.get(message.id));
  const ids = new Set(clientMessages.map(({ id }) => id));
  return { ...checkedInput, messages: checkedInput.messages.filter(({ id }) => !ids.has(id)) };
}
