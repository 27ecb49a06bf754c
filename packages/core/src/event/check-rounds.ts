import { invalidInput } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import { openCalls } from '../message/tool-pairs.ts';

/** Throws `INVALID_INPUT` unless each tool call in the messages has a result after it. */
export function checkRounds(messages: readonly Msg[]): void {
  const [open] = openCalls(messages);
  if (!open) return;
  const { id } = open;
  const message = `The tool call "${id}" of the input needs a result after it. Add the result, or remove the tool call.`;
  throw invalidInput(message, { details: { id } });
}
