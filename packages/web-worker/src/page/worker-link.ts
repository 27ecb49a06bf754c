import { AgentError } from '@isoloop/core';
import type { ConnectOptions } from './connect-agent.ts';
import { boundaryError, Connection, unreadable } from './connection.ts';
import { protocol, type HelloMessage, type PageMessage } from '../wire/protocol.ts';

/** A connection to the worker: its port, and its life, which ends with the worker's. */
export interface WorkerLink {
  readonly port: MessagePort;
  readonly connection: Connection;
}

type Told = PageMessage extends infer M
  ? M extends PageMessage
    ? Omit<M, 'protocol'>
    : never
  : never;

/**
 * Connects as soon as the worker says hello; what is posted to the port till then waits in it. The
 * connection is cut with `WORKER_FAILED` when the script can't be loaded, throws while it is, or
 * doesn't answer in time, then or later while something waits for it, and with `WORKER_TERMINATED`
 * when the worker is gone.
 */
export function linkWorker(
  worker: Worker | SharedWorker,
  { agent, sessionId, options = null, timeoutMs = 10_000, page = [] }: ConnectOptions,
): WorkerLink {
  const { port1, port2 } = new MessageChannel();
  const connection = new Connection();
  const listening = new AbortController();
  const { signal } = listening;
  const { port: shared } = worker as Partial<SharedWorker>;
  const endpoint = shared ?? (worker as Worker);
  let connected = false;
  let silent = 0;

  const fail = (message: string, cause?: unknown): void =>
    connection.cut(new AgentError('WORKER_FAILED', message, { cause }));
  const post = (message: Told, ports: MessagePort[] = []): void =>
    endpoint.postMessage({ protocol, ...message }, ports);
  const ping = (): void => post({ type: 'ping' });
  // In quarters, five of them: the first may end right after the silence began, and after a sleep
  // of the machine one is late, with the answer to the last ping still on its way.
  const timer = setInterval(() => {
    if (connected && !connection.waited) silent = -1;
    else if (++silent > 3)
      fail(
        `The worker did not answer within ${timeoutMs} ms.${connected ? '' : ' Does its script call exposeAgent()?'}`,
      );
    else if (connected) ping();
  }, timeoutMs / 4);
  connection.onCut(() => {
    clearInterval(timer);
    listening.abort();
    port1.close();
  });

  const connect = (lock?: string): void => {
    try {
      const offers = page.map(({ offer }) => offer);
      const ports = page.map((part) => part.serve(signal));
      post({ type: 'connect', agent, sessionId, options, offers, lock }, [port2, ...ports]);
    } catch (error) {
      connection.cut(boundaryError(error));
    }
  };
  const onHello = ({ data }: MessageEvent<Partial<HelloMessage> | null>): void => {
    if (data?.protocol !== protocol) return;
    silent = -1;
    if (connected) return;
    connected = true;
    if (shared && navigator.locks) holdLock(connect, signal);
    else connect();
    if (data.lock) watchLock(data.lock, connection, signal);
  };
  // Of an error after the start nothing is known to have failed: a worker outlives it, and its end
  // shows in the lock.
  const onError = (event: ErrorEvent): void => {
    if (!connected) fail(loadError(event), event.error);
  };
  const onUnreadable = (): void => connection.cut(unreadable());
  // A frozen page freezes its worker: another tab has to lead then.
  const onPage = ({ type }: Event): void => post({ type } as Told);
  // What is told to the document passes the window first.
  const listen = (target: EventTarget, type: string, listener: (event: never) => void): void =>
    target.addEventListener(type, listener as EventListener, { signal, capture: true });
  listen(endpoint, 'message', onHello);
  listen(worker, 'error', onError);
  for (const target of [endpoint, port1]) listen(target, 'messageerror', onUnreadable);
  for (const type of ['pagehide', 'pageshow', 'freeze', 'resume']) listen(globalThis, type, onPage);
  shared?.start();
  ping();
  return { port: port1, connection };
}

/**
 * A script that can't be loaded, or a module that can't be parsed, gives a plain event, without a
 * message.
 */
function loadError({ message, filename, lineno }: ErrorEvent): string {
  if (!message) return 'The worker script could not be loaded. See the console.';
  return `The script of the worker failed: ${message}${filename ? ` (${filename}:${lineno})` : ''}`;
}

/**
 * Holds a lock as long as the connection lasts: nothing else tells a SharedWorker that a page is
 * gone.
 */
function holdLock(connect: (lock?: string) => void, signal: AbortSignal): void {
  const lock = `isoloop:page:${crypto.randomUUID()}`;
  const hold = (): Promise<void> | undefined => {
    if (signal.aborted) return undefined;
    connect(lock);
    return new Promise((resolve) => signal.addEventListener('abort', resolve as () => void));
  };
  // Refused, as in an opaque origin.
  navigator.locks.request(lock, hold).catch(() => connect());
}

/** Waits for the worker's lock. No event reports a terminated worker, but its locks are released. */
function watchLock(lock: string, connection: Connection, signal: AbortSignal): void {
  const gone = (): void =>
    connection.cut(new AgentError('WORKER_TERMINATED', 'The worker is gone.'));
  navigator.locks?.request(lock, { mode: 'shared', signal }, gone).catch(() => {
    // Given up with the connection.
  });
}
