import { connectAgent, type RemoteAgent } from '@isoloop/web-worker';
import { DefaultChatTransport, type ChatTransport, type UIMessage } from 'ai';
import type { Home, ModelChoice } from './settings.ts';

/** News about the conversation from other tabs and, at the edge, from other browsers. */
export type News =
  /**
   * A run (the agent's work on one question) has started or continues. It may be a run of this
   * page. Without an id, it is a run of another tab.
   */
  | { readonly type: 'run'; readonly runId?: string }
  | { readonly type: 'end'; readonly runId: string }
  /** The conversation may have changed. The page reads the history to find out. */
  | { readonly type: 'look' };

/**
 * A connection from a conversation to its agent. The interface is the same for an agent in the
 * tab's worker and for an agent at the edge.
 */
export interface Connection {
  readonly sessionId: string;
  readonly transport: ChatTransport<UIMessage>;
  /** Messages of the conversation at the time when the connection opened. */
  readonly messages: UIMessage[];
  /** Reads all messages up to now, from all tabs and browsers. */
  history(): Promise<UIMessage[]>;
  /** Calls `listener` with news. Returns a function that ends these calls. */
  watch(listener: (news: News) => void): () => void;
  /**
   * Whether a run continues after the user leaves the page. If so, the page must not end the run
   * when it closes.
   */
  readonly outlivesPage: boolean;
  /** Stops the current run, whichever page started it. This page has already stopped reading. */
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

/** Returns the models that the edge offers, or an empty list if the edge cannot be reached. */
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
  // The edge does not announce new questions. This channel announces them to other tabs of this
  // browser. For questions of other browsers, the page reads the history.
  const otherTabs = new BroadcastChannel(`isoloop-demo:${path}`);
  const tell = (news: News): void => otherTabs.postMessage(news.type);
  const edge = new DefaultChatTransport<UIMessage>({
    api: '/api/chat',
    body: { events: true, model: model.kind === 'edge' ? 'edge' : 'offline' },
    // Sends only the last message, because the edge stores the history.
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

/** Watches the runs of all tabs. */
function watchRuns(agent: RemoteAgent, listener: (news: News) => void): () => void {
  const runs = agent.watch();
  const read = async (): Promise<void> => {
    let seen = '';
    for await (const { type, runId, agentPath } of runs) {
      if (agentPath.length > 1) continue;
      if (type === 'run-end') listener({ type: 'end', runId });
      // The stored history contains the question from this event on.
      const isAtWork = type === 'pre-reasoning' || type === 'pre-acting';
      if (!isAtWork || runId === seen) continue;
      seen = runId;
      listener({ type: 'run', runId });
    }
  };
  read().catch(() => {}); // The connection has ended.
  return () => void runs.cancel();
}

/**
 * Asks the page to read the history when it becomes visible or gets the focus. A hidden page may
 * have slept, or may have received no news.
 */
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
 * Stops the run at the edge. If conversations are in KV, this request fails, but the disconnect has
 * already stopped the run.
 */
async function interrupt(path: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await fetch(`${path}/interrupt`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ mode: 'abort' }),
  }).catch(() => {});
}
