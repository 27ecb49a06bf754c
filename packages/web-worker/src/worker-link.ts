import { AgentError } from '@isoloop/core';
import type { ConnectOptions } from './connect-agent.ts';
import { boundaryError, Lifeline } from './lifeline.ts';
import { protocol, type HelloMessage, type PageMessage } from './protocol.ts';

/** A connection to the worker: its port, and its life, which ends with the worker's. */
export interface WorkerLink {
  readonly port: MessagePort;
  readonly lifeline: Lifeline;
}

/**
 * Connects as soon as the worker says hello; what is posted to the port till then waits in it. The lifeline is cut with `WORKER_FAILED`
 * when the script can't be loaded, throws while it is, or doesn't answer in time, then or later while something waits for it, and with
 * `WORKER_TERMINATED` when the worker is gone.
 */
export function linkWorker(
  worker: Worker,
  { agent, sessionId, options = null, timeoutMs = 10_000, page = [] }: ConnectOptions,
): WorkerLink {
  const { port1, port2 } = new MessageChannel();
  const lifeline = new Lifeline();
  const listening = new AbortController();
  const { signal } = listening;
  let connected = false;
  let silent = 0;

  const fail = (message: string, cause?: unknown): void => lifeline.cut(new AgentError('WORKER_FAILED', message, { cause }));
  const ping = (): void => worker.postMessage({ protocol, type: 'ping' } satisfies PageMessage);
  // In quarters: after a sleep of the machine one tick is late, and the answer to the last ping may still be on its way.
  const timer = setInterval(() => {
    if (connected && !lifeline.waited) silent = 0;
    else if (++silent > 3)
      fail(`The worker did not answer within ${timeoutMs} ms.${connected ? '' : ' Does its script call exposeAgent()?'}`);
    else if (connected) ping();
  }, timeoutMs / 4);
  lifeline.onCut(() => {
    clearInterval(timer);
    listening.abort();
    port1.close();
  });

  const onHello = ({ data }: MessageEvent<unknown>): void => {
    if (!isHello(data)) return;
    silent = 0;
    if (connected) return;
    connected = true;
    try {
      const offers = page.map(({ offer }) => offer);
      const ports = page.map((part) => part.serve(signal));
      worker.postMessage({ protocol, type: 'connect', agent, sessionId, options, offers } satisfies PageMessage, [port2, ...ports]);
    } catch (error) {
      return lifeline.cut(boundaryError(error));
    }
    if (data.lock !== undefined) watchLock(data.lock, lifeline, signal);
  };
  // Of an error after the start nothing is known to have failed: a worker outlives it, and its end shows in the lock.
  const onError = (event: ErrorEvent): void => {
    if (!connected) fail(loadError(event), event.error);
  };
  worker.addEventListener('message', onHello, { signal });
  worker.addEventListener('error', onError, { signal });
  worker.addEventListener('messageerror', () => fail('What the worker sent could not be read.'), { signal });
  port1.addEventListener('messageerror', () => fail('What the worker sent could not be read.'), { signal });
  ping();
  return { port: port1, lifeline };
}

function isHello(data: unknown): data is HelloMessage {
  const { protocol: spoken, type } = (data ?? {}) as Partial<HelloMessage>;
  return spoken === protocol && type === 'hello';
}

/** A script that can't be loaded, or a module that can't be parsed, gives a plain event, without a message. */
function loadError({ message, filename, lineno }: ErrorEvent): string {
  if (!message) return 'The script of the worker could not be loaded; the console says why.';
  return `The script of the worker failed: ${message}${filename ? ` (${filename}:${lineno})` : ''}`;
}

/** Waits for the worker's lock: no event tells of a worker that was terminated, but its locks fall free. */
function watchLock(lock: string, lifeline: Lifeline, signal: AbortSignal): void {
  const gone = (): void => lifeline.cut(new AgentError('WORKER_TERMINATED', 'The worker is gone.'));
  navigator.locks?.request(lock, { mode: 'shared', signal }, gone).catch(() => {
    // Given up with the connection.
  });
}
