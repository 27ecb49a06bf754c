import { AgentError } from '@isoloop/core';
import type { Msg } from '@isoloop/core';
import { fromUiMessage } from '@isoloop/core/ai-sdk';
import type { AgentSession } from './agent-session.ts';
import type { ChatRequest } from './protocol.ts';

/**
 * What to call the agent with for a turn of AI SDK's chat. A message that the log has already was edited, or is to be answered anew:
 * what followed it is forgotten. `undefined`: the log ends with the message.
 */
export async function takeChatMessage(session: AgentSession, { trigger, message }: ChatRequest): Promise<Msg | undefined> {
  const sent = fromUiMessage(message as Parameters<typeof fromUiMessage>[0]);
  if (sent.role !== 'user') throw new AgentError('INVALID_INPUT', 'The last message of the chat is not a user’s.');
  const stored = await (await session.agent()).messages();
  const index = stored.findIndex(({ id }) => id === sent.id);
  if (index < 0) return sent;
  const again = trigger === 'regenerate-message';
  const gone = stored.slice(again ? index + 1 : index).map(({ id }) => id);
  if (gone.length) await session.edit((memory) => memory.delete(gone));
  return again ? undefined : sent;
}
