import { AgentError } from '@isoloop/core';
import type { ConnectOptions } from './connect-agent.ts';
import { boundaryError, Connection, unreadable } from './connection.ts';
import { protocol, type HelloMessage, type PageMessage } from '../wire/protocol.ts';

/** A connection to the worker and its port. The connection ends when the worker does. */
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
 * Connects when the worker says hello; messages posted to the port before that wait in it. Cuts the
 * connection with `WORKER_FAILED` if the script can't be loaded or throws while it loads. The same
 * happens if the worker does not answer in time, at the start or later while calls are pending.
 * Cuts it with `WORKER_TERMINATED` when the worker is gone.
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
  // Counts silent quarters of `timeoutMs`: four while the worker loads, five later. The first of
  // the five may end right after the silence began. After the machine slept, one tick is late and
  // the answer to the last ping still on its way.
  const timer = setInterval(() => {
    if (connected && !connection.waited) silent = -1;
    else if (++silent > 3)
      fail(
        `The worker did not answer in ${timeoutMs} ms.${connected ? '' : ' Does it call exposeAgent()?'}`,
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
  // An error after the start need not stop anything: the worker survives it. The lock shows when
  // the worker ends.
  const onError = (event: ErrorEvent): void => {
    if (!connected) fail(loadError(event), event.error);
  };
  const onUnreadable = (): void => connection.cut(unreadable());
  // A frozen page freezes its worker, so another tab has to lead.
  const onPage = ({ type }: Event): void => post({ type } as Told);
  // Events of the document pass the window first, in the capture phase.
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
 * Describes why the worker script failed. If it can't be loaded, or a module can't be parsed, the
 * event is plain and has no message.
 */
function loadError({ message, filename, lineno }: ErrorEvent): string {
  if (!message) return 'The worker script could not be loaded. See the console.';
  const place = filename && ` (${filename}:${lineno})`;
  return `The worker script failed: ${message}${place}`;
}

/**
 * Holds a lock while the connection lasts. Nothing else tells a SharedWorker that a page is gone.
 */
function holdLock(connect: (lock?: string) => void, signal: AbortSignal): void {
  const lock = `isoloop:page:${crypto.randomUUID()}`;
  const hold = (): Promise<void> | undefined => {
    if (signal.aborted) return undefined;
    connect(lock);
    return new Promise((resolve) => signal.addEventListener('abort', resolve as () => void));
  };
  // Locks may be refused, for example in an opaque origin.
  navigator.locks.request(lock, hold).catch(() => connect());
}

/**
 * Cuts the connection when the worker's lock is free. No event reports a terminated worker, but the
 * browser releases its locks.
 */
function watchLock(lock: string, connection: Connection, signal: AbortSignal): void {
  const gone = (): void =>
    connection.cut(new AgentError('WORKER_TERMINATED', 'The worker is gone.'));
  navigator.locks?.request(lock, { mode: 'shared', signal }, gone).catch(() => {
    // The connection ended, which aborts the wait.
  });
}
