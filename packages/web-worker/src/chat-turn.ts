import type { Memory, Msg } from '@isoloop/core';
import { fromUiMessage } from '@isoloop/core/ai-sdk';
import type { ChatRequest } from './protocol.ts';

/**
 * What to call the agent with for a turn of AI SDK's chat. A message that the log has already was edited, or is to be answered anew:
 * what followed it is forgotten. `undefined`: the log ends with the message.
 */
export async function takeChatMessage(memory: Memory, { trigger, message }: ChatRequest): Promise<Msg | undefined> {
  const sent = fromUiMessage(message);
  const stored = await memory.read();
  const index = stored.findIndex(({ id }) => id === sent.id);
  if (index < 0) return sent;
  const again = trigger === 'regenerate-message';
  const gone = stored.slice(again ? index + 1 : index).map(({ id }) => id);
  if (gone.length) await memory.delete(gone);
  return again ? undefined : sent;
}
