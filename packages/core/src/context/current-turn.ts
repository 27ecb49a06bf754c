import { turnsOf } from './turns.ts';
import type { Msg } from '../message/msg.ts';

/**
 * Returns the current call's input and all messages since. A call without input gets the last turn,
 * which it continues.
 */
export function currentTurn(
  messages: readonly Msg[],
  promptId: string | undefined,
): readonly Msg[] {
  const turns = turnsOf(messages);
  return turns.slice(turns.findIndex((turn) => turn.some(({ id }) => id === promptId))).flat();
}
