import { turnsOf } from './turns.ts';
import type { Msg } from './msg.ts';

/**
 * Returns the input of the current agent call and all messages after it. An agent call without
 * input continues the last turn, so it gets that turn.
 */
export function currentTurn(
  messages: readonly Msg[],
  promptId: string | undefined,
): readonly Msg[] {
  const turns = turnsOf(messages);
  return turns.slice(turns.findIndex((turn) => turn.some(({ id }) => id === promptId))).flat();
}
