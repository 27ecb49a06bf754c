import { AgentChat, type AgentChatOptions } from './agent-chat.ts';
import { isEndpoint } from './source/agent-source.ts';
import type { AgentLink, AgentEndpoint, AgentSource, LinkOptions } from './source/agent-source.ts';
import { linkWorkerAgent } from './source/worker-agent.ts';

/** A chat with the source and options that its next link uses. */
export interface OpenChat {
  readonly chat: AgentChat;
  source: AgentSource | undefined;
  options: LinkOptions;
}

const chatsOfWorkers: WeakMap<object, Map<string, OpenChat>> = new WeakMap();
const chatsOfEndpoints: Map<string, OpenChat> = new Map();

/**
 * Returns the chat of a conversation. Components with the same source and session share it, and it
 * survives renders that React throws away, for example while a component suspends.
 */
export function openChat(
  source: AgentSource | undefined,
  options: LinkOptions,
  { isNew, messages }: Pick<AgentChatOptions, 'isNew' | 'messages'>,
): OpenChat {
  const { agent = null, sessionId } = options;
  const chats = chatsOf(source);
  const key = JSON.stringify([isEndpoint(source) ? source.api : agent, sessionId]);
  const earlierChat = chats.get(key);
  if (earlierChat) return earlierChat;
  const openLink = (): AgentLink =>
    isEndpoint(entry.source)
      ? entry.source.link(entry.options, () => entry.source as AgentEndpoint)
      : linkWorkerAgent(entry.source, entry.options);
  const chat = new AgentChat({ openLink, isNew, messages });
  const entry: OpenChat = { chat, source, options };
  chats.set(key, entry);
  return entry;
}

function chatsOf(source: AgentSource | undefined): Map<string, OpenChat> {
  // A server has no workers, and must not keep the chats of its users.
  if (!source) return new Map();
  if (isEndpoint(source)) return typeof document === 'undefined' ? new Map() : chatsOfEndpoints;
  const chats = chatsOfWorkers.get(source) ?? new Map<string, OpenChat>();
  chatsOfWorkers.set(source, chats);
  return chats;
}
