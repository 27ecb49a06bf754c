import { AgentError, type AgentEvent, type AgentResult } from '@isoloop/core';
import type { UiChunk } from '@isoloop/core/stream';
import { releaseProxy, transfer, wrap, type Remote } from 'comlink';
import { unpackEvents, type WireEvent } from '../wire/wire-events.ts';
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

/** Methods of the API that begin a run. `chat` sends chunks, the others send events. */
type RunKind = 'call' | 'stream' | 'watch' | 'chat';

/** What the page sends with a request for a run. The client adds the other fields. */
type RunRequestOf<K extends RunKind> = Omit<Parameters<SessionApi[K]>[0], 'id' | 'aborted'>;

type ItemOf<K extends RunKind> = K extends 'chat' ? UiChunk : AgentEvent;

/** What the worker sends. Only events are packed. */
type SentMessage = RunMessage<UiChunk | WireEvent>;

/** Methods of the API that return a value. */
type ValueMethod = 'pending' | 'interrupt' | 'messages' | 'uiMessages' | 'clear';

type Ask = <T>(input: unknown) => Promise<Outcome<T>>;

type Begin = (request: object, port: MessagePort) => Promise<void>;

/** Run in the worker. */
export interface RemoteRun<T> {
  /** Batches of the run's events or chunks. The first read starts the run. */
  readonly batches: AsyncGenerator<readonly T[], AgentResult>;
  readonly abort: () => void;
}

/** The API of a session in a worker, as its page uses it. */
export interface SessionClient {
  /** Calls a method of the API. */
  readonly ask: <T>(method: ValueMethod, input?: unknown) => Promise<T>;
  /** Requests a run, which sends its events or chunks over a port of its own. */
  readonly begin: <K extends RunKind>(
    kind: K,
    request: RunRequestOf<K>,
    signal?: AbortSignal,
  ) => RemoteRun<ItemOf<K>>;
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
    begin: runsOf(link, remote, abort),
    abort,
    close(reason = 'The connection is closed.') {
      if (!connection.signal.aborted) remote[releaseProxy]();
      connection.abort(new AgentError('WORKER_TERMINATED', reason));
    },
  };
}

/**
 * Returns the function that begins runs. The worker may send only a limited number of batches ahead
 * of a run's reader (`initialCredits`).
 */
function runsOf(
  { connection, pending }: WorkerLink,
  remote: Remote<SessionApi>,
  abort: SessionClient['abort'],
): SessionClient['begin'] {
  let lastId = 0;
  return <K extends RunKind>(kind: K, request: RunRequestOf<K>, signal?: AbortSignal) => {
    const id = ++lastId;
    let isOver = false;
    let itemCount = 0;
    const stop = (): void => {
      if (!isOver) abort(id, !itemCount);
      isOver = true;
    };
    async function* readBatches(): AsyncGenerator<readonly ItemOf<K>[], AgentResult> {
      connection.signal.throwIfAborted();
      const messages: SentMessage[] = [];
      let wake = (): void => {};
      const receive = ({ data }: { readonly data: SentMessage }): void => {
        messages.push(data);
        wake();
      };
      const fail = (error: unknown): void => receive({ data: failedEnd(error) });
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', receive);
      port1.addEventListener('messageerror', () => fail(unreadableError()));
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
          const { items, reads } = message;
          itemCount += items.length;
          const batch = kind === 'chat' ? items : unpackEvents(items as readonly WireEvent[]);
          if (batch.length) yield batch as readonly ItemOf<K>[];
          credits += reads;
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

/** Returns the last message of a run that has failed on the page. */
function failedEnd(error: unknown): SentMessage {
  return { type: 'end', outcome: { ok: false, error: boundaryError(error) } };
}

function unreadableError(): AgentError {
  return new AgentError('WORKER_FAILED', unreadable);
}
