import { AgentError, type JsonValue } from '@isoloop/core';
import { expose } from 'comlink';
import type { AgentFactories, AgentFactory } from '../session/agent-session.ts';
import type { ExposedAgent, Outputs } from '../wire/exposed-agent.ts';
import { createMacrotasks } from '../wire/macrotask.ts';
import { protocol, type HelloMessage, type PageMessage } from '../wire/protocol.ts';
import { serveSession } from './serve-session.ts';
import { Sessions } from './sessions.ts';
import { toTabs, type TabsOptions } from '../session/tab-options.ts';

export interface ExposeOptions<T extends Outputs = Outputs> {
  /**
   * Typed values that calls may end with, such as `{ invoice: structured(schema) }`. A page asks
   * for one by its name: `agent.call(text, { output: 'invoice' })`. The schema's output value must
   * be cloneable.
   */
  readonly outputs?: T;
  /**
   * How the tabs of a session work together, if the browser has Web Locks and BroadcastChannel.
   * `false`: each tab works alone.
   */
  readonly tabs?: TabsOptions | false;
}

/**
 * The worker's way to hear and answer a page: a dedicated worker's own scope, or a SharedWorker's
 * port.
 */
interface PagePort {
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
  postMessage(message: HelloMessage): void;
  start?(): void;
}

/**
 * Serves agents to the page that started this worker, or to all pages that share a SharedWorker.
 * Call it once, in the worker's script. The first call of a session asks the factory for an agent.
 * After a session's last connection closed, a new connection gets a new agent. If the factory
 * throws, the calls that needed the agent reject: with its `AgentError`, or else with
 * `WORKER_FAILED`. The next call asks the factory again. For several agents, give their factories
 * by name; a page names one with `connectAgent(worker, { agent })`. Throws `CONFIGURATION` if
 * called twice or if a factory is not a function.
 *
 * The return value is for the pages' types: `export type Assistant = typeof assistant`. The
 * factory's parameter types its options: `({ options }: AgentSetup<MyOptions>) => …`.
 */
export function exposeAgent<O = JsonValue, T extends Outputs = {}>(
  factory: AgentFactory<O>,
  options?: ExposeOptions<T>,
): ExposedAgent<O, never, T>;
export function exposeAgent<O = JsonValue, N extends string = string, T extends Outputs = {}>(
  factories: Readonly<Record<N, AgentFactory<O>>>,
  options?: ExposeOptions<T>,
): ExposedAgent<O, N, T>;
export function exposeAgent(
  factory: AgentFactory<never> | AgentFactories<never>,
  { outputs = {}, tabs }: ExposeOptions = {},
): ExposedAgent {
  if (exposed)
    throw new AgentError(
      'CONFIGURATION',
      'exposeAgent() was already called in this worker. Pass several factories by name.',
    );
  const factories = typeof factory === 'function' ? [factory] : Object.values(Object(factory));
  if (!factories.length || factories.some((each) => typeof each !== 'function'))
    throw new AgentError(
      'CONFIGURATION',
      'exposeAgent() needs a function that returns an agent, or several by name.',
    );
  const sessions = new Sessions({
    factory: factory as AgentFactory | AgentFactories,
    outputs,
    tabs: toTabs(tabs),
  });
  exposed = true;
  const later = createMacrotasks();
  const locked = holdLock();

  const listen = (page: PagePort, isShared: boolean): void => {
    const sayHello = async (): Promise<void> =>
      page.postMessage({ protocol, type: 'hello', ...(await locked) });
    page.addEventListener('message', ({ data, ports: [port, ...pagePorts] }) => {
      if (!isPageMessage(data)) return;
      if (data.type === 'ping') return void sayHello();
      if (data.type !== 'connect') {
        if (!isShared) sessions.setAwake(data.type === 'pageshow' || data.type === 'resume');
        return;
      }
      if (!port) return;
      const { api, lose } = serveSession({ sessions, connect: data, pagePorts, later });
      expose(api, port);
      // Nothing else tells a SharedWorker that a page is gone.
      if (data.lock !== undefined) navigator.locks?.request(data.lock, lose).catch(() => {});
    });
    page.start?.();
    void sayHello();
  };

  if ('onconnect' in globalThis) {
    globalThis.addEventListener('connect', (event) =>
      listen((event as MessageEvent).ports[0]!, true),
    );
  } else listen(globalThis as unknown as PagePort, false);
  return {};
}

let exposed = false;

function isPageMessage(data: unknown): data is PageMessage {
  return (data as Partial<PageMessage> | null)?.protocol === protocol;
}

/**
 * Holds a lock as long as the worker lives. Resolves with `{}` if there are no locks or they are
 * refused (an opaque origin).
 */
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
