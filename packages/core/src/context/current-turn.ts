import { turnsOf } from './turns.ts';
import type { Msg } from '../message/msg.ts';

/** What the call was made with, and all since. A call that goes on has what it goes on from. */
export function currentTurn(
  messages: readonly Msg[],
  promptId: string | undefined,
): readonly Msg[] {
  const turns = turnsOf(messages);
  return turns.slice(turns.findIndex((turn) => turn.some(({ id }) => id === promptId))).flat();
}
