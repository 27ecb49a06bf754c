import { connectAgent, type RemoteAgent } from '@isoloop/web-worker';
import { DefaultChatTransport, type ChatTransport, type UIMessage } from 'ai';
import type { Home, ModelChoice } from './settings.ts';

/** What others do with the conversation: other tabs and, at the edge, other browsers. */
export type News =
  /**
   * A run has begun, or goes on; it may be this page's own. Without an id: one of another tab's.
   */
  | { readonly type: 'run'; readonly runId?: string }
  | { readonly type: 'end'; readonly runId: string }
  /** Nobody tells what was missed: there may be something new. */
  | { readonly type: 'look' };

/** A conversation's way to its agent: the same face for both homes. */
export interface Connection {
  readonly sessionId: string;
  readonly transport: ChatTransport<UIMessage>;
  /** What was said before. */
  readonly messages: UIMessage[];
  /** What was said up to now, by whomever. */
  history(): Promise<UIMessage[]>;
  /** Tells what others do, until what it gives back is called. */
  watch(listener: (news: News) => void): () => void;
  /** Whether a turn goes on there without this page: leaving the page must not end it. */
  readonly outlivesPage: boolean;
  /** Ends the turn where it runs, whoever asked for it; the page has stopped reading it. */
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
    const { data } = (await response.json()) as {
      readonly data: readonly { readonly id: string }[];
    };
    return data.map(({ id }) => id);
  } catch {
    return [];
  }
}

async function connectWorker({ sessionId, model }: ConnectionOptions): Promise<Connection> {
  const worker = new Worker(new URL('../agent.worker.ts', import.meta.url), { type: 'module' });
  const agent = connectAgent(worker, { sessionId, options: { ...model } });
  const history = async (): Promise<UIMessage[]> => [...(await agent.uiMessages())];
  try {
    return {
      sessionId,
      transport: agent.chatTransport({ events: true }),
      messages: await history(),
      history,
      watch: (listener) => joined(watchRuns(agent, listener), watchFocus(listener)),
      outlivesPage: false,
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
  const history = async (): Promise<UIMessage[]> => {
    const response = await fetch(`${path}/messages`);
    if (!response.ok) throw new Error(await response.text());
    return ((await response.json()) as { messages: UIMessage[] }).messages;
  };
  const messages = await history();
  // The edge tells nobody of a new turn; this browser's other tabs are told here, all else is
  // looked for.
  const otherTabs = new BroadcastChannel(`isoloop-demo:${path}`);
  const tell = (news: News): void => otherTabs.postMessage(news.type);
  const edge = new DefaultChatTransport<UIMessage>({
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
    transport: {
      resumeStreamIsReplay: true,
      reconnectToStream: (asked) => edge.reconnectToStream(asked),
      async sendMessages(asked) {
        const stream = await edge.sendMessages(asked);
        tell({ type: 'run' });
        return stream.pipeThrough(new TransformStream({ flush: () => tell({ type: 'look' }) }));
      },
    },
    messages,
    history,
    watch(listener) {
      const hear = ({ data }: MessageEvent): void =>
        listener({ type: data === 'run' ? 'run' : 'look' });
      otherTabs.addEventListener('message', hear);
      return joined(() => otherTabs.removeEventListener('message', hear), watchFocus(listener));
    },
    outlivesPage: true,
    stop: () => void interrupt(path),
    close: () => otherTabs.close(),
  };
}

/** The runs of all tabs. */
function watchRuns(agent: RemoteAgent, listener: (news: News) => void): () => void {
  const runs = agent.watch();
  const read = async (): Promise<void> => {
    let seen = '';
    for await (const { type, runId, agentPath } of runs) {
      if (agentPath.length > 1) continue;
      if (type === 'run-end') listener({ type: 'end', runId });
      // From here on the log has what was asked.
      const isAtWork = type === 'pre-reasoning' || type === 'pre-acting';
      if (!isAtWork || runId === seen) continue;
      seen = runId;
      listener({ type: 'run', runId });
    }
  };
  read().catch(() => {}); // the connection has ended
  return () => void runs.cancel();
}

/** A page that slept, or that nothing is told, looks when somebody looks at it. */
function watchFocus(listener: (news: News) => void): () => void {
  const look = (): void => {
    if (document.visibilityState === 'visible') listener({ type: 'look' });
  };
  window.addEventListener('focus', look);
  document.addEventListener('visibilitychange', look);
  return () => {
    window.removeEventListener('focus', look);
    document.removeEventListener('visibilitychange', look);
  };
}

function joined(...ends: readonly (() => void)[]): () => void {
  return () => {
    for (const end of ends) end();
  };
}

/**
 * Where the edge keeps conversations in KV it has nothing to interrupt: there leaving was enough.
 */
async function interrupt(path: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await fetch(`${path}/interrupt`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ mode: 'abort' }),
  }).catch(() => {});
}
