import type { AgentError, AgentResult } from '@isoloop/core';
import { unpackEvents } from '../wire/delta-runs.ts';
import type { Connection } from './connection.ts';
import { boundaryError, unreadable } from './connection.ts';
import {
  fromOutcome,
  initialCredits,
  type CreditMessage,
  type RunMessage,
} from '../wire/protocol.ts';

export interface RemoteRunOptions {
  /** Id of the request, unique within the connection. */
  readonly id: number;
  readonly connection: Connection;
  readonly signal: AbortSignal | undefined;
  /**
   * Function that requests the run from the worker. The worker sends the run's events over the
   * port. Rejects only if the request cannot be sent.
   */
  readonly open: (aborted: boolean, port: MessagePort) => Promise<void>;
  /**
   * Function that asks the worker to abort the run. `unread`: no event of the run has arrived yet.
   */
  readonly abort: (unread: boolean) => void;
}

export interface RemoteRun<T> {
  readonly id: number;
  /** Batches of the run's events. The first read starts the run. */
  readonly batches: AsyncGenerator<readonly T[], AgentResult>;
  readonly abort: () => void;
}

/**
 * Reads the events of a run in the worker. The worker may send only a limited number of batches
 * ahead of the reader (`initialCredits`).
 */
export function remoteRun<T>({
  id,
  connection,
  signal,
  open,
  abort,
}: RemoteRunOptions): RemoteRun<T> {
  let over = false;
  let unread = true;
  const stop = (): void => {
    if (over) return;
    over = true;
    abort(unread);
  };

  async function* read(): AsyncGenerator<readonly T[], AgentResult> {
    if (connection.error) throw connection.error;
    const { port1, port2 } = new MessageChannel();
    const inbox = createInbox<T>(port1);
    const off = connection.onCut(inbox.fail);
    signal?.addEventListener('abort', stop);
    try {
      over ||= !!signal?.aborted;
      open(over, port2).catch((error: unknown) => inbox.fail(boundaryError(error)));
      for (;;) {
        const message = await inbox.next();
        if (message.type === 'end') {
          over = true;
          return fromOutcome(message.outcome);
        }
        unread = false;
        if (message.items.length) yield unpackEvents(message.items);
        inbox.grant(message.reads);
      }
    } finally {
      stop();
      off();
      signal?.removeEventListener('abort', stop);
      port1.close();
    }
  }

  return { id, batches: read(), abort: stop };
}

interface Inbox<T> {
  readonly fail: (error: AgentError) => void;
  next(): Promise<RunMessage<T>>;
  /**
   * Counts the batches that were read. When they are half of the initial credits, allows the worker
   * to send as many more, so that the worker seldom waits.
   */
  grant(reads: number): void;
}

/** Creates an inbox that stores the messages of a run's port until they are read. */
function createInbox<T>(port: MessagePort): Inbox<T> {
  const messages: RunMessage<T>[] = [];
  let failure: AgentError | undefined;
  let wake: (() => void) | undefined;
  let read = 0;

  const fail = (error: AgentError): void => {
    failure ??= error;
    wake?.();
  };
  port.addEventListener('message', ({ data }: MessageEvent<RunMessage<T>>) => {
    messages.push(data);
    wake?.();
  });
  port.addEventListener('messageerror', () => fail(unreadable()));
  port.start();
  return {
    fail,
    async next() {
      for (;;) {
        const message = messages.shift();
        if (message) return message;
        if (failure) throw failure;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    grant(reads) {
      read += reads;
      if (read < initialCredits / 2) return;
      port.postMessage({ credits: read } satisfies CreditMessage);
      read = 0;
    },
  };
}
