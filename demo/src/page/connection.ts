import { connectAgent } from '@isoloop/web-worker';
import { DefaultChatTransport, type ChatTransport, type UIMessage } from 'ai';
import type { Home, ModelChoice } from './settings.ts';

/** A conversation's way to its agent: the same face for both homes. */
export interface Connection {
  readonly sessionId: string;
  readonly transport: ChatTransport<UIMessage>;
  /** What was said before. */
  readonly messages: UIMessage[];
  close(): void;
}

export interface ConnectionOptions {
  readonly home: Home;
  readonly sessionId: string;
  readonly model: ModelChoice;
}

export function connect(options: ConnectionOptions): Promise<Connection> {
  return options.home === 'worker' ? connectWorker(options) : connectEdge(options);
}

/** The models the edge offers; none where it can't be asked. */
export async function edgeModels(): Promise<readonly string[]> {
  try {
    const response = await fetch('/v1/models');
    const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] };
    return data.map(({ id }) => id);
  } catch {
    return [];
  }
}

async function connectWorker({ sessionId, model }: ConnectionOptions): Promise<Connection> {
  const worker = new Worker(new URL('../agent.worker.ts', import.meta.url), { type: 'module' });
  const agent = connectAgent(worker, { sessionId, options: { ...model } });
  try {
    const messages = [...(await agent.uiMessages())];
    return {
      sessionId,
      transport: agent.chatTransport({ events: true }),
      messages,
      close: () => agent.terminate(),
    };
  } catch (error) {
    agent.terminate();
    throw error;
  }
}

async function connectEdge({ sessionId, model }: ConnectionOptions): Promise<Connection> {
  const response = await fetch(`/api/chat/${encodeURIComponent(sessionId)}/messages`);
  if (!response.ok) throw new Error(await response.text());
  const { messages } = (await response.json()) as { messages: UIMessage[] };
  const transport = new DefaultChatTransport<UIMessage>({
    api: '/api/chat',
    body: { events: true, model: model.kind === 'edge' ? 'edge' : 'offline' },
    // The history is the edge's own: the last message is all it needs.
    prepareSendMessagesRequest: ({ id, messages: all, trigger, messageId, body }) => ({
      body: { ...body, id, trigger, messageId, messages: all.slice(-1) },
    }),
  });
  return { sessionId, transport, messages, close: () => {} };
}
