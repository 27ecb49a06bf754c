import { AgentChat } from './agent-chat.ts';
import type { AgentLink, AgentEndpoint, AgentSource, LinkOptions } from './agent-source.ts';
import { linkWorkerAgent } from './worker-agent.ts';

/** A chat with the source and options that its next link uses. */
export interface OpenChat {
  readonly chat: AgentChat;
  source: AgentSource;
  options: LinkOptions;
}

const ofWorkers: WeakMap<object, Map<string, OpenChat>> = new WeakMap();
const ofEndpoints: Map<string, OpenChat> = new Map();

/**
 * Returns the chat of a conversation. Components with the same source and session share it, and it
 * survives renders that React throws away, for example while a component suspends.
 */
export function openChat(source: AgentSource, options: LinkOptions, isNew: boolean): OpenChat {
  const { agent = null, sessionId } = options;
  const chats = chatsOf(source);
  const key = JSON.stringify(['link' in source ? source.api : agent, sessionId]);
  const known = chats.get(key);
  if (known) return known;
  const link = (): AgentLink =>
    'link' in entry.source
      ? entry.source.link(options, () => entry.source as AgentEndpoint)
      : linkWorkerAgent(entry.source, entry.options);
  const entry: OpenChat = { chat: new AgentChat(sessionId, link, isNew), source, options };
  chats.set(key, entry);
  return entry;
}

function chatsOf(source: AgentSource): Map<string, OpenChat> {
  // A server must not keep the chats of its users.
  if ('link' in source) return typeof document === 'undefined' ? new Map() : ofEndpoints;
  const chats = ofWorkers.get(source) ?? new Map<string, OpenChat>();
  ofWorkers.set(source, chats);
  return chats;
}
