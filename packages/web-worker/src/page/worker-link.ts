import { AgentError } from '@isoloop/core';
import { checkId } from '@isoloop/core/error';
import { maxTimeoutMs } from '@isoloop/core/wait';
import { checkArguments } from './check-arguments.ts';
import type { ConnectOptions } from './connect-agent.ts';
import {
  boundaryError,
  protocol,
  type ConnectMessage,
  type HelloMessage,
} from '../wire/protocol.ts';

export const unreadable = 'The worker sent unreadable data.';

const silentCauses =
  'Its file may be old: build it again. Or it does not call exposeAgent(), or it failed while it ' +
  'loaded: see the console.';

const loadCauses =
  'Its file may be missing, may be an HTML page of the server, or may have an error of syntax or ' +
  'a failing import: see the console.';

/** A page and its worker are built from one version of the library. */
function versionProblem(version: string): string {
  return (
    `The worker speaks ${version}, and the page ${protocol}: they have different versions of ` +
    '@isoloop/web-worker. Build both again, and close all tabs that have an old SharedWorker.'
  );
}

/** Connection of a page to a worker. */
export interface WorkerLink {
  /** Port for the API of the session. */
  readonly port: MessagePort;
  /** Cuts the connection with the `AgentError` that it is aborted with. */
  readonly connection: AbortController;
  /**
   * Functions that reject the pending requests if the connection breaks. (With Comlink alone, they
   * would stay pending.)
   */
  readonly pending: Set<(error: unknown) => void>;
}

/**
 * Connects to the worker after its `hello` message. Messages that are posted to the port earlier
 * wait in the port.
 *
 * Cuts the connection with `WORKER_FAILED` if the worker script cannot be loaded or throws while it
 * loads. Also does so if the worker speaks another version of the protocol. The same happens if it
 * does not answer within `timeoutMs`, at the start or while requests are pending. Cuts the
 * connection with `WORKER_TERMINATED` when the worker has ended.
 * Throws `CONFIGURATION` for wrong options.
 */
// oxlint-disable-next-line max-lines-per-function -- the wiring of one connection, in its order
export function linkWorker(
  worker: Worker | SharedWorker,
  { agent, sessionId, options = null, timeoutMs = 10_000, page = [], ...others }: ConnectOptions,
): WorkerLink {
  const isFit = Object(worker).addEventListener && page.every?.((part) => part?.serve);
  const takes = 'connectAgent() takes worker, sessionId, agent, options, timeoutMs, page';
  checkArguments(takes, isFit, others);
  checkId(sessionId, 'sessionId', 'CONFIGURATION');
  if (agent !== undefined) checkId(agent, 'name of the agent', 'CONFIGURATION');
  const { port1, port2 } = new MessageChannel();
  const connection = new AbortController();
  const { signal } = connection;
  const pending: WorkerLink['pending'] = new Set();
  const { port: shared } = worker as Partial<SharedWorker>;
  const endpoint = shared ?? (worker as Worker);
  const { locks } = navigator as { readonly locks?: LockManager };
  let connected = false;
  let silent = 0;

  const fail = (message: string, cause?: unknown): void =>
    connection.abort(new AgentError('WORKER_FAILED', message, { cause }));
  const tell = ({ type }: { readonly type: string }): void =>
    endpoint.postMessage({ protocol, type });
  // Counts the quarters of `timeoutMs` without a message from the worker. The connection fails
  // after four quarters while the worker loads, and after five later. Five are needed because the
  // first quarter may begin before the silence. They also allow for one late tick after the machine
  // slept, when the answer to the last ping has not arrived yet.
  const countSilence = (): void => {
    const advice = connected ? '' : ` ${silentCauses}`;
    if (connected && !pending.size) silent = -1;
    else if (++silent > 3) fail(`The worker did not answer in ${timeoutMs} ms.${advice}`);
    else if (connected) tell({ type: 'ping' });
  };
  const timer = setInterval(countSilence, Math.min(timeoutMs / 4, maxTimeoutMs));
  signal.addEventListener('abort', () => {
    clearInterval(timer);
    port1.close();
    for (const reject of pending) reject(signal.reason);
  });

  const connect = (lock?: string): void => {
    try {
      const ports = page.map((part) => part.serve(signal));
      const message: ConnectMessage = {
        protocol,
        type: 'connect',
        agentName: agent,
        sessionId,
        options,
        offers: page.map(({ offer }) => offer),
        lock,
      };
      endpoint.postMessage(message, [port2, ...ports]);
    } catch (error) {
      connection.abort(boundaryError(error));
    }
  };
  const onHello = ({ data }: MessageEvent<Partial<HelloMessage> | null>): void => {
    const version: unknown = data?.protocol;
    if (data?.protocol !== protocol) {
      if (/^isoloop\/\d+$/.test(String(version))) fail(versionProblem(String(version)));
      return;
    }
    silent = -1;
    if (connected) return;
    connected = true;
    if (shared && locks) {
      // The page holds this lock until the connection ends. A SharedWorker has no other way to
      // detect that a page has gone.
      const lock = `isoloop:page:${crypto.randomUUID()}`;
      const hold = (): Promise<void> | undefined => {
        if (signal.aborted) return undefined;
        connect(lock);
        return new Promise((resolve) => signal.addEventListener('abort', resolve as () => void));
      };
      // Browsers may refuse locks, for example in an opaque origin.
      locks.request(lock, hold).catch(() => connect());
    } else connect();
    if (!data.lock) return;
    // The browser fires no event for a terminated worker, but it releases the worker's lock.
    const reportEnd = (): void =>
      connection.abort(new AgentError('WORKER_TERMINATED', 'The worker is terminated.'));
    locks?.request(data.lock, { mode: 'shared', signal }, reportEnd).catch(() => {
      // The request for the lock was aborted, because the connection ended.
    });
  };
  // Ignores errors after the start, because the worker continues to run after an uncaught error.
  // The worker's lock shows when the worker has ended.
  const onError = ({ message, filename, lineno, error }: ErrorEvent): void => {
    if (connected) return;
    const place = filename && ` (${filename}:${lineno})`;
    // The event has no message if the script cannot be loaded or a module cannot be parsed.
    if (message) fail(`The worker failed: ${message}${place}`, error);
    else fail(`The worker did not load. ${loadCauses}`);
  };
  // Listens in the capture phase, in which the window also gets the events of the document.
  const listen = (target: EventTarget, type: string, listener: (event: never) => void): void =>
    target.addEventListener(type, listener as EventListener, { signal, capture: true });
  listen(endpoint, 'message', onHello);
  listen(worker, 'error', onError);
  for (const target of [endpoint, port1]) listen(target, 'messageerror', () => fail(unreadable));

  // A frozen page freezes its worker, so another tab has to run the agent.
  for (const type of ['pagehide', 'pageshow', 'freeze', 'resume']) listen(globalThis, type, tell);
  shared?.start();
  tell({ type: 'ping' });
  return { port: port1, connection, pending };
}
