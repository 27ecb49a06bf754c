import { AgentError, type AgentEvent, type AgentResult } from '@isoloop/core';
import type { UiChunk } from '@isoloop/core/stream';
import { releaseProxy, transfer, wrap, type Remote } from 'comlink';
import { unpackEvents } from '../wire/wire-events.ts';
import {
  boundaryError,
  fromOutcome,
  initialCredits,
  type CreditMessage,
  type Outcome,
  type RunMessage,
  type SessionApi,
} from '../wire/protocol.ts';
import { unreadable, type WorkerLink } from './worker-link.ts';

/** Methods of the API that begin a run and send its events. */
type EventRun = 'call' | 'stream' | 'watch';

/** What the page sends with a request for a run. The client adds the other fields. */
type RunRequestOf<K extends EventRun | 'chat'> = Omit<
  Parameters<SessionApi[K]>[0],
  'id' | 'aborted'
>;

/** Methods of the API that return a value. */
type ValueMethod = 'pending' | 'interrupt' | 'messages' | 'uiMessages' | 'clear';

type Ask = <T>(input: unknown) => Promise<Outcome<T>>;

type Begin = (request: object, port: MessagePort) => Promise<void>;

/** Run in the worker. */
export interface RemoteRun<T> {
  /** Batches of the run's events. The first read starts the run. */
  readonly batches: AsyncGenerator<readonly T[], AgentResult>;
  readonly abort: () => void;
}

/** The API of a session in a worker, as its page uses it. */
export interface SessionClient {
  /** Calls a method of the API. */
  readonly ask: <T>(method: ValueMethod, input?: unknown) => Promise<T>;
  /** Requests a run, which sends its events over a port of its own. */
  readonly begin: <K extends EventRun>(
    kind: K,
    request: RunRequestOf<K>,
    signal?: AbortSignal,
  ) => RemoteRun<AgentEvent>;
  /** Requests an answer of a chat, which sends its chunks over a port of its own. */
  readonly chat: (request: RunRequestOf<'chat'>, signal?: AbortSignal) => RemoteRun<UiChunk>;
  /**
   * Aborts a run, or all runs of the connection. `isUnread`: no event of the run has arrived yet.
   */
  readonly abort: (id?: number, isUnread?: boolean) => void;
  readonly close: (reason?: string) => void;
}

export function sessionClient(link: WorkerLink): SessionClient {
  const { port, connection, pending } = link;
  const remote: Remote<SessionApi> = wrap<SessionApi>(port);
  const abort: SessionClient['abort'] = (id, isUnread) => {
    if (!connection.signal.aborted) remote.abort(id, isUnread).catch(() => {});
  };
  const begin = runsOf(link, remote, abort);
  return {
    ask: <T>(method: ValueMethod, input?: unknown) => {
      const answer = new Promise<T>((resolve, reject) => {
        connection.signal.throwIfAborted();
        pending.add(reject);
        (remote[method] as Ask)<T>(input)
          .finally(() => pending.delete(reject))
          .then(fromOutcome)
          .then(resolve)
          .catch((error) => reject(boundaryError(error)));
      });
      // A page may send a request, such as an interrupt, without waiting for the answer.
      answer.catch(() => {});
      return answer;
    },
    begin: (kind, request, signal) => begin({ kind, request, signal, decode: unpackEvents }),
    chat: (request, signal) => begin({ kind: 'chat', request, signal, decode: asSent }),
    abort,
    close(reason = 'The connection is closed.') {
      if (!connection.signal.aborted) remote[releaseProxy]();
      connection.abort(new AgentError('WORKER_TERMINATED', reason));
    },
  };
}

interface RunStart<Item, T> {
  readonly kind: EventRun | 'chat';
  readonly request: object;
  readonly signal: AbortSignal | undefined;
  /** Converts the items that the worker has sent. */
  readonly decode: (items: readonly Item[]) => readonly T[];
}

/** The chunks of a chat are sent as they are. */
function asSent(chunks: readonly UiChunk[]): readonly UiChunk[] {
  return chunks;
}

/**
 * Returns the function that begins runs. The worker may send only a limited number of batches ahead
 * of a run's reader (`initialCredits`).
 */
function runsOf(
  { connection, pending }: WorkerLink,
  remote: Remote<SessionApi>,
  abort: SessionClient['abort'],
): <Item, T>(start: RunStart<Item, T>) => RemoteRun<T> {
  let lastId = 0;
  return <Item, T>({ kind, request, signal, decode }: RunStart<Item, T>) => {
    const id = ++lastId;
    let isOver = false;
    let itemCount = 0;
    const stop = (): void => {
      if (!isOver) abort(id, !itemCount);
      isOver = true;
    };
    async function* readBatches(): AsyncGenerator<readonly T[], AgentResult> {
      connection.signal.throwIfAborted();
      const messages: RunMessage<Item>[] = [];
      let wake = (): void => {};
      const receive = ({ data }: { readonly data: RunMessage<Item> }): void => {
        messages.push(data);
        wake();
      };
      const fail = (error: unknown): void =>
        receive({ data: { type: 'end', outcome: { ok: false, error: boundaryError(error) } } });
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', receive);
      port1.addEventListener('messageerror', () =>
        fail(new AgentError('WORKER_FAILED', unreadable)),
      );
      port1.start();
      pending.add(fail);
      signal?.addEventListener('abort', stop);
      try {
        if (signal?.aborted) isOver = true;
        const fullRequest = { ...request, id, aborted: isOver };
        (remote[kind] as Begin)(fullRequest, transfer(port2, [port2])).catch(fail);
        for (let credits = 0; ;) {
          while (!messages.length) await new Promise<void>((resolve) => (wake = resolve));
          const message = messages.shift()!;
          if (message.type === 'end') {
            // The worker ignores the abort of a run that has failed there.
            isOver = message.outcome.ok;
            return fromOutcome(message.outcome);
          }
          itemCount += message.items.length;
          if (message.items.length) yield decode(message.items);
          credits += message.reads;
          // Grants many credits at once, and before the worker has used all others.
          if (credits < initialCredits / 2) continue;
          port1.postMessage({ credits } satisfies CreditMessage);
          credits = 0;
        }
      } finally {
        stop();
        pending.delete(fail);
        signal?.removeEventListener('abort', stop);
        port1.close();
      }
    }
    return { batches: readBatches(), abort: stop };
  };
}
