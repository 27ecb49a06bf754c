import { AgentError } from '@isoloop/core';
import {
  anything,
  checkFields,
  checkId,
  checkOptions,
  optional,
  positive,
  withMethod,
  type Kind,
  type OptionTable,
} from '@isoloop/core/options';
import { sessionIdNames } from '@isoloop/core/host';
import { isRecord } from '@isoloop/core/message';
import { timerMs } from '@isoloop/core/wait';
import type { ConnectOptions } from './connect-agent.ts';
import type { PagePart } from './parts/page-part.ts';
import {
  boundaryError,
  protocol,
  type ConnectMessage,
  type HelloMessage,
  type PageMessage,
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

/** Quarters of `timeoutMs` without a message from a loading worker, after which it has failed. */
const maxLoadingQuarters = 4;

/**
 * The same for a connected worker. The first quarter may begin before the silence. After the
 * machine slept, one late tick comes before the answer to the last ping.
 */
const maxSilentQuarters = 5;

/** What a page may tell its worker without a session: a ping, or an event of its own life. */
type NoticeType = Exclude<PageMessage['type'], 'connect'>;

/** Events of a page that its worker has to know. A frozen page freezes its worker. */
const lifeEvents: readonly NoticeType[] = ['pagehide', 'pageshow', 'freeze', 'resume'];

/** Options of a connection with their defaults. */
type LinkOptions = Pick<ConnectOptions, 'agent' | 'options' | 'sessionId'> &
  Required<Pick<ConnectOptions, 'page' | 'timeoutMs'>>;

/**
 * Connects to the worker after its `hello` message. Messages that are posted to the port earlier
 * wait in the port.
 *
 * Cuts the connection with `WORKER_FAILED` if the worker script cannot be loaded or throws while it
 * loads. Also does so if the worker speaks another version of the protocol. The same happens if it
 * does not answer within `timeoutMs`, at the start or while requests are pending. Cuts the
 * connection with `WORKER_TERMINATED` when the worker has ended. Throws `CONFIGURATION` for wrong
 * options.
 */
export function linkWorker(
  worker: Worker | SharedWorker,
  connectOptions: Partial<ConnectOptions> | undefined,
): WorkerLink {
  checkFields(where, { worker }, { worker: workerKind });
  checkOptions(where, connectOptions, connectTable, 'CONFIGURATION', {
    sessionId: sessionIdNames,
  });
  const { agent, sessionId, options = null, timeoutMs = 10_000, page = [] } = connectOptions ?? {};
  checkId(sessionId, 'sessionId', 'CONFIGURATION');
  if (agent !== undefined) checkId(agent, 'name of the agent', 'CONFIGURATION');
  return new WorkerLink(worker, { agent, sessionId, options, timeoutMs, page });
}

const where = 'connectAgent()';

const workerKind = withMethod('addEventListener', 'a Worker or a SharedWorker');

const pageParts: Kind<readonly PagePart[]> = {
  words: 'an array of pageTools(), pageHooks(), pageApprovals() or pageModel()',
  test: (value) => Array.isArray(value) && value.every((part) => hasMethod(part, 'serve')),
};

export const connectTable: OptionTable<ConnectOptions> = {
  // Checked as ids, which also names what is wrong with them.
  agent: anything,
  sessionId: anything,
  options: anything,
  timeoutMs: optional(positive),
  page: optional(pageParts),
};

/** Connection of a page to a worker. */
export class WorkerLink {
  /** Port for the API of the session. */
  readonly port: MessagePort;
  /** Cuts the connection with the `AgentError` that it is aborted with. */
  readonly connection: AbortController = new AbortController();
  /**
   * Functions that reject the pending requests if the connection breaks. (With Comlink alone, they
   * would stay pending.)
   */
  readonly pending: Set<(error: unknown) => void> = new Set();
  readonly #options: LinkOptions;
  readonly #worker: Worker | SharedWorker;
  readonly #isShared: boolean;
  /** Where messages to the worker go: the worker itself, or the port of a SharedWorker. */
  readonly #endpoint: Worker | MessagePort;
  /** The other end of `port`, which the worker gets. */
  readonly #workerPort: MessagePort;
  /** Absent in a page without a secure context. */
  readonly #locks: LockManager | undefined;
  #isConnected = false;
  #silentQuarters = 0;

  constructor(worker: Worker | SharedWorker, options: LinkOptions) {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    this.#workerPort = port2;
    this.#options = options;
    this.#worker = worker;
    this.#isShared = 'port' in worker;
    this.#endpoint = 'port' in worker ? worker.port : worker;
    this.#locks = (navigator as { readonly locks?: LockManager }).locks;
    this.#watchSilence();
    this.#listen();
    if ('port' in worker) worker.port.start();
    this.#tell('ping');
  }

  #tell(type: NoticeType): void {
    this.#endpoint.postMessage({ protocol, type });
  }

  #fail(message: string, cause?: unknown): void {
    this.connection.abort(new AgentError('WORKER_FAILED', message, { cause }));
  }

  #watchSilence(): void {
    const { signal } = this.connection;
    const quarterMs = timerMs(this.#options.timeoutMs / 4);
    const timer = setInterval(() => this.#countSilence(), quarterMs);
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      this.port.close();
      for (const reject of this.pending) reject(signal.reason);
    });
  }

  /** Counts one more quarter of `timeoutMs` without a message from the worker. */
  #countSilence(): void {
    if (this.#isConnected && !this.pending.size) {
      this.#silentQuarters = 0;
      return;
    }
    this.#silentQuarters += 1;
    const maxQuarters = this.#isConnected ? maxSilentQuarters : maxLoadingQuarters;
    if (this.#silentQuarters >= maxQuarters) {
      const advice = this.#isConnected ? '' : ` ${silentCauses}`;
      this.#fail(`The worker did not answer in ${this.#options.timeoutMs} ms.${advice}`);
    } else if (this.#isConnected) this.#tell('ping');
  }

  #listen(): void {
    const { signal } = this.connection;
    // Listens in the capture phase, in which the window also gets the events of the document.
    const listen = (target: EventTarget, type: string, listener: (event: never) => void): void =>
      target.addEventListener(type, listener as EventListener, { signal, capture: true });
    listen(this.#endpoint, 'message', (event: MessageEvent) => this.#onMessage(event));
    listen(this.#worker, 'error', (event: ErrorEvent) => this.#onError(event));
    for (const target of [this.#endpoint, this.port])
      listen(target, 'messageerror', () => this.#fail(unreadable));
    for (const type of lifeEvents) listen(globalThis, type, () => this.#tell(type));
  }

  /** Connects at the first `hello`. Later ones are answers to pings. */
  #onMessage({ data }: MessageEvent<Partial<HelloMessage> | null>): void {
    const version: unknown = data?.protocol;
    if (data?.protocol !== protocol) {
      if (/^isoloop\/\d+$/.test(String(version))) this.#fail(versionProblem(String(version)));
      return;
    }
    this.#silentQuarters = 0;
    if (this.#isConnected) return;
    this.#isConnected = true;
    if (this.#locks && this.#isShared) this.#connectInLock(this.#locks);
    else this.#connect();
    if (data.lock) this.#watchEnd(data.lock);
  }

  /**
   * Connects while the page holds a lock until the connection ends. A SharedWorker has no other way
   * to detect that a page has gone.
   */
  #connectInLock(locks: LockManager): void {
    const { signal } = this.connection;
    const lock = `isoloop:page:${crypto.randomUUID()}`;
    const hold = (): Promise<void> | undefined => {
      if (signal.aborted) return undefined;
      this.#connect(lock);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    };
    // Browsers may refuse locks, for example in an opaque origin.
    locks.request(lock, hold).catch(() => this.#connect());
  }

  #connect(lock?: string): void {
    const { agent: agentName, sessionId, options, page } = this.#options;
    try {
      const ports = page.map((part) => part.serve(this.connection.signal));
      const offers = page.map(({ offer }) => offer);
      const message: ConnectMessage = {
        protocol,
        type: 'connect',
        agentName,
        sessionId,
        options,
        offers,
        lock,
      };
      this.#endpoint.postMessage(message, [this.#workerPort, ...ports]);
    } catch (error) {
      this.connection.abort(boundaryError(error));
    }
  }

  /**
   * Reports the end of the worker. The browser fires no event for a terminated worker, but it
   * releases the worker's lock.
   */
  #watchEnd(workerLock: string): void {
    const { signal } = this.connection;
    const reportEnd = (): void =>
      this.connection.abort(new AgentError('WORKER_TERMINATED', 'The worker is terminated.'));
    this.#locks?.request(workerLock, { mode: 'shared', signal }, reportEnd).catch(() => {
      // The request for the lock was aborted, because the connection ended.
    });
  }

  /**
   * Ignores errors after the start, because the worker continues to run after an uncaught error.
   * The worker's lock shows when the worker has ended.
   */
  #onError({ message, filename, lineno, error }: ErrorEvent): void {
    if (this.#isConnected) return;
    const place = filename && ` (${filename}:${lineno})`;
    // The event has no message if the script cannot be loaded or a module cannot be parsed.
    if (message) this.#fail(`The worker failed: ${message}${place}`, error);
    else this.#fail(`The worker did not load. ${loadCauses}`);
  }
}

function hasMethod(value: unknown, method: string): boolean {
  return isRecord(value) && typeof value[method] === 'function';
}
