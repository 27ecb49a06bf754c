import { connectAgent } from '@isoloop/web-worker';
import { DefaultChatTransport, type ChatTransport, type UIMessage } from 'ai';
import type { Home, ModelChoice } from './settings.ts';

/** A conversation's way to its agent: the same face for both homes. */
export interface Connection {
  readonly sessionId: string;
  readonly transport: ChatTransport<UIMessage>;
  /** What was said before. */
  readonly messages: UIMessage[];
  /** Whether a turn may still run there that this page has left. */
  readonly resume: boolean;
  /** Ends the turn where it runs; the page has stopped reading it. */
  stop(): void;
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
      resume: false,
      stop: () => {},
      close: () => agent.terminate(),
    };
  } catch (error) {
    agent.terminate();
    throw error;
  }
}

async function connectEdge({ sessionId, model }: ConnectionOptions): Promise<Connection> {
  const path = `/api/chat/${encodeURIComponent(sessionId)}`;
  const response = await fetch(`${path}/messages`);
  if (!response.ok) throw new Error(await response.text());
  const { messages } = (await response.json()) as { messages: UIMessage[] };
  const transport = new DefaultChatTransport<UIMessage>({
    api: '/api/chat',
    body: { events: true, model: model.kind === 'edge' ? 'edge' : 'offline' },
    // The history is the edge's own: the last message is all it needs.
    prepareSendMessagesRequest: ({ id, messages: all, trigger, messageId, body }) => ({
      body: { ...body, id, trigger, messageId, messages: all.slice(-1) },
    }),
    prepareReconnectToStreamRequest: () => ({ api: `${path}/stream?events=true` }),
  });
  return {
    sessionId,
    transport,
    messages,
    resume: true,
    stop: () => void interrupt(path),
    close: () => {},
  };
}

/** Where the edge keeps conversations in KV it has nothing to interrupt: there leaving was enough. */
async function interrupt(path: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await fetch(`${path}/interrupt`, { method: 'POST', headers, body: JSON.stringify({ mode: 'abort' }) }).catch(() => {});
}
