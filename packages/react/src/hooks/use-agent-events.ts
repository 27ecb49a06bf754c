import { useSyncExternalStore } from 'react';
import type { AgentTimelineEvent } from '../reading/timeline-events.ts';
import type { AgentChatHelpers } from './use-agent-chat.ts';

/**
 * Returns the latest events of a chat's runs, for a timeline. The component renders again at each
 * event.
 */
export function useAgentEvents({
  conversation,
}: Pick<AgentChatHelpers, 'conversation'>): readonly AgentTimelineEvent[] {
  const read = (): readonly AgentTimelineEvent[] => conversation.events;
  return useSyncExternalStore((listener) => conversation.subscribe(listener), read, read);
}
