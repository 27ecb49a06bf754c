import { AgentError } from '@isoloop/core';
import { longestTimeout } from '@isoloop/core/adapter';
import { checkGiven } from './check-given.ts';
import type { ConnectOptions } from './connect-agent.ts';
import { boundaryError, Connection, unreadable } from './connection.ts';
import { protocol, type HelloMessage, type PageMessage } from '../wire/protocol.ts';

/**
 * Connection to a worker and the port for the API of the session. The connection ends when the
 * worker ends.
 */
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
 * Connects to the worker after its `hello` message. Messages that are posted to the port earlier
 * wait in the port.
 *
 * Cuts the connection with `WORKER_FAILED` if the worker script cannot be loaded or throws while it
 * loads. Also does so if the worker does not answer within `timeoutMs`, at the start or while
 * requests are pending. Cuts the connection with `WORKER_TERMINATED` when the worker has ended.
 * Throws `CONFIGURATION` for wrong options.
 */
// oxlint-disable-next-line max-lines-per-function -- the wiring of one connection, in its order
export function linkWorker(
  worker: Worker | SharedWorker,
  { agent, sessionId, options = null, timeoutMs = 10_000, page = [], ...others }: ConnectOptions,
): WorkerLink {
  const isFit =
    Object(worker).addEventListener && sessionId?.trim?.() && page.every?.((part) => part?.serve);
  const takes = 'connectAgent() takes worker, sessionId, agent, options, timeoutMs, page';
  checkGiven(takes, isFit, others);
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
  // Counts the quarters of `timeoutMs` without a message from the worker. The connection fails
  // after four quarters while the worker loads, and after five later. Five are needed because the
  // first quarter may begin before the silence. They also allow for one late tick after the machine
  // slept, when the answer to the last ping has not arrived yet.
  const quarterMs = Math.min(timeoutMs / 4, longestTimeout);
  const timer = setInterval(() => {
    if (connected && !connection.waited) silent = -1;
    else if (++silent > 3)
      fail(
        `The worker did not answer in ${timeoutMs} ms.${connected ? '' : ' Does it call exposeAgent()?'}`,
      );
    else if (connected) ping();
  }, quarterMs);
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
  // Ignores errors after the start, because the worker continues to run after an uncaught error.
  // The worker's lock shows when the worker has ended.
  const onError = (event: ErrorEvent): void => {
    if (!connected) fail(loadError(event), event.error);
  };
  // Reports lifecycle events of the page: a frozen page freezes its worker, so another tab has to
  // run the agent.
  const onPage = ({ type }: Event): void => post({ type } as Told);
  // Listens in the capture phase, in which the window also gets the events of the document.
  const listen = (target: EventTarget, type: string, listener: (event: never) => void): void =>
    target.addEventListener(type, listener as EventListener, { signal, capture: true });
  listen(endpoint, 'message', onHello);
  listen(worker, 'error', onError);
  for (const target of [endpoint, port1])
    listen(target, 'messageerror', () => connection.cut(unreadable()));
  for (const type of ['pagehide', 'pageshow', 'freeze', 'resume']) listen(globalThis, type, onPage);
  shared?.start();
  ping();
  return { port: port1, connection };
}

/**
 * Returns an error message for a failed worker script. The event has no message if the script
 * cannot be loaded or a module cannot be parsed.
 */
function loadError({ message, filename, lineno }: ErrorEvent): string {
  if (!message) return 'The worker could not be loaded. See the console.';
  const place = filename && ` (${filename}:${lineno})`;
  return `The worker failed: ${message}${place}`;
}

/**
 * Holds a lock until the connection ends, and connects with the name of the lock. The lock is the
 * only way for a SharedWorker to detect that a page has gone.
 */
function holdLock(connect: (lock?: string) => void, signal: AbortSignal): void {
  const lock = `isoloop:page:${crypto.randomUUID()}`;
  const hold = (): Promise<void> | undefined => {
    if (signal.aborted) return undefined;
    connect(lock);
    return new Promise((resolve) => signal.addEventListener('abort', resolve as () => void));
  };
  // Browsers may refuse locks, for example in an opaque origin.
  navigator.locks.request(lock, hold).catch(() => connect());
}

/**
 * Cuts the connection when the worker's lock becomes free. The browser fires no event for a
 * terminated worker, but it releases the worker's locks.
 */
function watchLock(lock: string, connection: Connection, signal: AbortSignal): void {
  const gone = (): void =>
    connection.cut(new AgentError('WORKER_TERMINATED', 'The worker is terminated.'));
  navigator.locks?.request(lock, { mode: 'shared', signal }, gone).catch(() => {
    // The request for the lock was aborted, because the connection ended.
  });
}
