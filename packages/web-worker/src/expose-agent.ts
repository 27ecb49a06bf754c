import { AgentError, type JsonValue } from '@isoloop/core';
import { expose } from 'comlink';
import type { AgentFactories, AgentFactory } from './agent-session.ts';
import { createMacrotasks } from './macrotask.ts';
import { protocol, type HelloMessage, type PageMessage } from './protocol.ts';
import { serveSession } from './serve-session.ts';
import { Sessions } from './sessions.ts';

/** What we use of a dedicated worker's global scope. */
interface WorkerScope {
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
  postMessage(message: HelloMessage): void;
}

/**
 * Serves agents to the page that started this worker; call it once, in the worker's script. The factory is asked for an agent at the
 * first call of a session, and again when a session is connected to anew after its last connection was closed. What it throws rejects
 * the calls that needed the agent, with `WORKER_FAILED` where it isn't an `AgentError`; the next call asks it again. Several agents:
 * their factories by name, of which a page names one (`connectAgent(worker, { agent })`). Throws `CONFIGURATION` when called again.
 */
export function exposeAgent<O extends JsonValue = JsonValue>(factory: AgentFactory<O> | AgentFactories<O>): void {
  if (exposed) throw new AgentError('CONFIGURATION', 'exposeAgent() was called before in this worker; give it several factories by name.');
  exposed = true;
  const scope = globalThis as unknown as WorkerScope;
  const sessions = new Sessions(factory as AgentFactory | AgentFactories);
  const later = createMacrotasks();
  const locked = holdLock();
  const sayHello = async (): Promise<void> => scope.postMessage({ protocol, type: 'hello', ...(await locked) });

  scope.addEventListener('message', ({ data, ports: [port, ...pagePorts] }) => {
    if (!isPageMessage(data)) return;
    if (data.type === 'ping') void sayHello();
    else if (port) expose(serveSession({ sessions, connect: data, pagePorts, later }), port);
  });
  void sayHello();
}

let exposed = false;

function isPageMessage(data: unknown): data is PageMessage {
  return (data as Partial<PageMessage> | null)?.protocol === protocol;
}

/** Holds a lock as long as the worker lives. Nothing where there are no locks, or they are refused (an opaque origin). */
function holdLock(): Promise<{ readonly lock?: string }> {
  const { locks } = navigator;
  if (!locks) return Promise.resolve({});
  const lock = `isoloop:worker:${crypto.randomUUID()}`;
  return new Promise((resolve) => {
    const forever = (): Promise<never> => {
      resolve({ lock });
      return new Promise(() => {});
    };
    locks.request(lock, forever).catch(() => resolve({}));
  });
}
