import type { ReActAgent } from '@isoloop/core';
import { answerSoFar, storedView, type ChatTurnRequest } from '@isoloop/core/host';
import { isCutOff } from '@isoloop/core/log';
import type { MessageStart } from '../wire/protocol.ts';

/** Returns how the chat shows the answer to a request. Decisions continue the last message. */
export async function messageStart(
  agent: ReActAgent,
  request: ChatTurnRequest,
): Promise<MessageStart> {
  if (request.kind !== 'decisions') return {};
  return { ...(await shownSoFar(agent)), messageId: request.messageId };
}

/**
 * Returns how the chat shows the run that was interrupted, for example by a reload. Returns
 * `undefined` if there is no such run.
 */
export async function cutOffStart(agent: ReActAgent): Promise<MessageStart | undefined> {
  const view = await storedView(agent.memory);
  if (!view || !isCutOff(view)) return undefined;
  return { ...(await shownSoFar(agent)), continues: true };
}

/** Returns how the chat shows a run that continues the last answer in the log. */
export async function shownSoFar({ memory }: ReActAgent): Promise<MessageStart> {
  const earlierMessages = await answerSoFar(memory);
  const messageId = earlierMessages.find(({ role }) => role === 'assistant')?.id;
  return messageId === undefined ? {} : { messageId, earlierMessages };
}
