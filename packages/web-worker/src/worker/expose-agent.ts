import { AgentError, type JsonValue, type ReActAgent } from '@isoloop/core';
import {
  checkId,
  checkOptions,
  object,
  optional,
  anything,
  type OptionTable,
} from '@isoloop/core/options';
import { expose } from 'comlink';
import type { AgentFactories, AgentFactory } from '../session/local-agent.ts';
import type { ExposedAgent, Outputs } from '../wire/exposed-agent.ts';
import { createMacrotasks } from '../wire/macrotask.ts';
import { protocol, type HelloMessage, type PageMessage } from '../wire/protocol.ts';
import { serveSession } from './serve-session.ts';
import { Sessions } from './sessions.ts';
import { tabSettings, type TabsOptions } from '../session/tab-options.ts';

/** Output modes that pages may ask for, and how tabs share a session. */
export interface ExposeOptions<T extends Outputs = Outputs> {
  /**
   * Output modes for typed results by name, such as `{ invoice: structured(schema) }`. A page
   * selects one by its name: `agent.call(text, { output: 'invoice' })`. The output value of the
   * schema must be cloneable. Default: none.
   */
  readonly outputs?: T;
  /**
   * Options for tabs with the same session, which share one agent. Sharing needs Web Locks and
   * BroadcastChannel in the browser. `false`: each tab has its own agent. Default: tabs share an
   * agent.
   */
  readonly tabs?: TabsOptions | false;
}

/**
 * Object over which the worker exchanges messages with a page: the global scope of a dedicated
 * worker, or a port of a SharedWorker.
 */
interface PagePort {
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
  postMessage(message: HelloMessage): void;
  start?(): void;
}

/**
 * Serves agents to the page that started this worker, or to all pages of a SharedWorker. Call it
 * once in the worker's script. For several agents, pass their factories by name. A page selects one
 * with `connectAgent(worker, { agent })`. Throws `CONFIGURATION` if called twice or if a factory is
 * not a function.
 *
 * The first request in a session calls the factory. All connections to the session share the agent.
 * After the last connection has closed, a new connection gets a new agent. If the factory throws,
 * agent calls reject with its `AgentError`, or with `WORKER_FAILED` for other errors. The next
 * agent call calls the factory again.
 *
 * The return value only carries types for the pages: `export type Assistant = typeof assistant`.
 * Declare the type of the options in the factory:
 * `({ options }: WorkerAgentSetup<MyOptions>) => …`.
 *
 * @example
 * const assistant = exposeAgent(
 *   ({ sessionId, memory }) => new ReActAgent({ name: 'assistant', model, memory, sessionId }),
 * );
 * export type Assistant = typeof assistant;
 */
export function exposeAgent<
  O = JsonValue,
  T extends Outputs = {},
  A extends ReActAgent = ReActAgent,
>(factory: AgentFactory<O, A>, options?: ExposeOptions<T>): ExposedAgent<O, never, T, A>;
export function exposeAgent<
  O = JsonValue,
  N extends string = string,
  T extends Outputs = {},
  F = unknown,
>(
  factories: Readonly<Record<N, AgentFactory<O>>> & F,
  options?: ExposeOptions<T>,
): ExposedAgent<O, N, T, F[keyof F]>;
export function exposeAgent(
  factory: AgentFactory<never> | AgentFactories<never>,
  options: ExposeOptions = {},
): ExposedAgent {
  checkOptions('exposeAgent()', options, exposeOptions);
  const { outputs = {}, tabs } = options;
  if (isExposed)
    throw new AgentError(
      'CONFIGURATION',
      'exposeAgent() was already called in this worker. Pass several factories by name.',
    );
  const factories = typeof factory === 'function' ? [factory] : Object.values(checkNames(factory));
  if (!factories.length || factories.some((each) => typeof each !== 'function'))
    throw new AgentError(
      'CONFIGURATION',
      'exposeAgent() needs a function that returns an agent, or several by name.',
    );
  const sessions = new Sessions({
    factory: factory as AgentFactory | AgentFactories,
    outputs,
    tabs: tabSettings(tabs),
    lock: () => lock,
  });
  isExposed = true;
  const schedule = createMacrotasks();
  const lockHeld = holdLock();
  let lock: string | undefined;

  const listen = (page: PagePort, isShared: boolean): void => {
    const sayHello = async (): Promise<void> => {
      const lockFields = await lockHeld;
      lock = lockFields.lock;
      page.postMessage({ protocol, type: 'hello', ...lockFields });
    };
    page.addEventListener('message', ({ data, ports: [port, ...pagePorts] }) => {
      if (!isPageMessage(data)) return;
      if (data.type === 'ping') return void sayHello();
      if (data.type !== 'connect') {
        if (!isShared) sessions.setAwake(data.type === 'pageshow' || data.type === 'resume');
        return;
      }
      if (!port) return;
      const { api, onPageLost } = serveSession({
        sessions,
        message: data,
        pagePorts,
        schedule,
      });
      expose(api, port);
      // The page holds this lock until it ends. A SharedWorker has no other way to detect that a
      // page has gone.
      if (data.lock !== undefined) navigator.locks?.request(data.lock, onPageLost).catch(() => {});
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

const exposeOptions: OptionTable<ExposeOptions> = { outputs: optional(object), tabs: anything };

let isExposed = false;

function isPageMessage(data: unknown): data is PageMessage {
  return (data as Partial<PageMessage> | null)?.protocol === protocol;
}

/**
 * Holds a lock until the worker ends, and resolves with its name. Resolves with `{}` if the browser
 * has no locks or refuses them, as in an opaque origin.
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

/** Returns factories by name. Throws `CONFIGURATION` for a name that is blank or has a slash. */
function checkNames(factories: AgentFactories<never>): AgentFactories<never> {
  for (const name of Object.keys(Object(factories))) {
    checkId(name, 'name of an agent', 'CONFIGURATION');
    // The id of a stored session is the name, a slash and the session id.
    if (name.includes('/'))
      throw new AgentError('CONFIGURATION', `The name of an agent has no slash: "${name}".`);
  }
  return Object(factories) as AgentFactories<never>;
}
