import { SseParser, toTypedChunk, valueFor } from '@isoloop/core/adapter';
import { latestMessages, typedMessages } from '@isoloop/core/ai-sdk';
import { checkArguments } from '../../page/check-arguments.ts';
import type { AgentLink, AgentEndpoint } from './agent-source.ts';
import {
  channelOf,
  deletedMessage,
  routesOf,
  type AgentEndpointOptions,
} from './endpoint-routes.ts';
import { SharedAnswers } from './shared-answers.ts';
import { onWake } from './wake.ts';
import type { AnswerBatches, AnswerRequest } from '../chat/chat.ts';
import { browserStorage, HeldMessages, type QueuedMessage } from '../chat/held-messages.ts';
import type { UIMessage } from '../chat/ui-message.ts';
import type { UIMessageChunk } from '../chat/ui-message-chunk.ts';

/**
 * Describes an endpoint of `@isoloop/edge` for `useAgentChat`. `api` is the address of its chat
 * route. The options may change from render to render.
 *
 * @example
 * const endpoint = agentEndpoint('/api/chat', { headers: { authorization: `Bearer ${token}` } });
 * const { messages } = useAgentChat(endpoint, { sessionId: 'notes' });
 */
export function agentEndpoint(api: string, options: AgentEndpointOptions = {}): AgentEndpoint {
  const { headers: _h, body: _b, credentials: _c, fetch: _f, ...limitsAndOthers } = options;
  const { timeoutMs: _limit, silenceMs: _s, ...others } = limitsAndOthers;
  const takes = 'api, headers, body, credentials, fetch, timeoutMs, silenceMs';
  checkArguments(`agentEndpoint() takes ${takes}`, typeof api === 'string', others);
  const address = api.replace(/\/$/, '');
  const endpoint: Endpoint = {
    api: address,
    options,
    link: ({ sessionId, agent: _a, options: _o, timeoutMs: _t, page: _p, ...unknown }, latest) => {
      checkArguments('useAgentChat() takes sessionId, throttleMs, listSessions', true, unknown);
      return linkEndpoint(address, sessionId, () => (latest() as Endpoint).options);
    },
  };
  return endpoint;
}

export interface Endpoint extends AgentEndpoint {
  readonly options: AgentEndpointOptions;
}

/** `latest` returns the options for each request. */
function linkEndpoint(
  api: string,
  sessionId: string,
  latest: () => AgentEndpointOptions,
): AgentLink {
  const routes = routesOf(api, latest, (answer) => shared.setUser(answer));
  const { ask } = routes;
  const path = routes.pathOf(sessionId);
  // The endpoint does not announce a new turn. This channel tells the browser's other tabs.
  const otherTabs = channelOf(path);
  const closeController = new AbortController();
  let queuedMessages: readonly QueuedMessage[] = [];
  // Tabs of this user have what was shared. All others look.
  const tell = (isShared: boolean): void =>
    otherTabs.postMessage((isShared && shared.channel?.name) || 'changed');
  let onAnswer = (): void => {};
  const { name } = otherTabs;
  const shared = new SharedAnswers({ name, onAnswer: () => onAnswer(), batchesOf });
  const loadHistory = async (): Promise<readonly UIMessage[]> => {
    const conversation = await routes.conversation(sessionId);
    queuedMessages = conversation.queued ?? [];
    return typedMessages(conversation.messages) as readonly UIMessage[];
  };
  return {
    pageKey: name,
    async send(request, signal) {
      const common = await valueFor('body', latest().body, 'INVALID_INPUT');
      const send = async (connection: AbortSignal): Promise<Response> => {
        const answer = await ask(api, {
          method: 'POST',
          body: bodyOf(sessionId, request, common),
          headers: request.headers,
          signal: connection,
        });
        if (!shared.channel) tell(false);
        return answer;
      };
      return shared.send(request.messages, signal, send, tell);
    },
    reconnect: (signal) =>
      shared.reconnect(signal, (connection) =>
        ask(`${path}/stream?events=true`, { signal: connection }),
      ),
    outlivesPage: true,
    // Loaded at its first use, because most pages show only one conversation.
    async sessions() {
      const { endpointSessions } = await import('./endpoint-sessions.ts');
      return endpointSessions(api, routes, shared.channel);
    },
    // The endpoint has the conversations of several users, so only this tab keeps its messages.
    heldMessages: new HeldMessages(browserStorage('sessionStorage'), name),
    queuedMessages: () => queuedMessages,
    async withdraw(id) {
      await ask(`${path}/queue/${encodeURIComponent(id)}`, { method: 'DELETE' });
      tell(false);
    },
    history: (shownMessages) => shared.history(loadHistory, shownMessages),
    watch(listener, onDeleted) {
      onAnswer = () => listener(undefined, () => shared.channel?.hasUnread === true);
      const look = watchPage(() => listener(), closeController.signal);
      otherTabs.addEventListener('message', ({ data }) => {
        if (data === deletedMessage) onDeleted();
        else if (!shared.isShared(data)) look();
      });
    },
    async stop(signal) {
      const isStopped = await routes.interrupt(sessionId, signal);
      // In KV, the end of the reading ends the turn.
      if (!isStopped) shared.stop();
      tell(true);
      return isStopped;
    },
    close() {
      closeController.abort();
      shared.close();
      otherTabs.close();
    },
  };
}

/**
 * Calls `listener` when the person comes back to the page. A hidden page does not look, because it
 * looks when it is visible. Returns a function that looks now.
 */
function watchPage(listener: () => void, signal: AbortSignal): () => void {
  const look = (): void => {
    if (!document.hidden) listener();
  };
  addEventListener('focus', look, { signal });
  document.addEventListener('visibilitychange', look, { signal });
  onWake(look, signal);
  return look;
}

/** Returns what the endpoint needs of a request. It has the other messages. */
function bodyOf(
  id: string,
  { trigger, messages, messageId, body }: AnswerRequest,
  common: object | undefined,
): object {
  const sentMessages = latestMessages(messages, messageId);
  return { events: true, ...common, ...body, id, trigger, messageId, messages: sentMessages };
}

/** Reads an event stream up to its `[DONE]`. Each piece of the network is a batch. */
async function* batchesOf({ body }: Response): AnswerBatches {
  const parser = new SseParser();
  const reader = body!.getReader();
  const reading = new AbortController();
  // The read then ends, as after a lost connection.
  onWake(() => void reader.cancel().catch(() => {}), reading.signal);
  try {
    for (let isOpen = true; isOpen;) {
      const { done, value } = await reader.read();
      // In WebKit, a lost connection looks like the end of the stream.
      if (done) throw new TypeError('The connection was lost.');
      yield parser.push(value).flatMap(({ data }) => {
        isOpen = data !== '[DONE]';
        return isOpen ? (toTypedChunk(JSON.parse(data)) as UIMessageChunk) : [];
      });
    }
  } finally {
    reading.abort();
    reader.cancel().catch(() => {});
  }
}
