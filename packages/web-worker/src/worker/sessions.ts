import { AgentError } from '@isoloop/core';
import type { AgentFactories, AgentFactory } from '../session/local-agent.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import type { ConnectMessage } from '../wire/protocol.ts';
import { Session } from '../session/session.ts';
import type { TabSettings } from '../session/tab-options.ts';
import { SharedTabHost } from '../tabs/shared-tab-host.ts';

interface SessionsOptions {
  readonly factory: AgentFactory | AgentFactories;
  readonly outputs: Outputs;
  /** Options for tabs that share a session. `undefined`: tabs do not share sessions. */
  readonly tabs: TabSettings | undefined;
  /** Returns the Web Lock that this worker holds until it ends. */
  readonly lock: () => string | undefined;
}

/**
 * Open sessions of a worker, by agent name and session id. A session is open while a page is
 * connected.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #openSessions: Map<string, { readonly session: Session; connections: number }> =
    new Map();
  /**
   * Promises of sessions that are closing, by key. A new session with the same key must not read
   * the log until the old one has closed.
   */
  readonly #closingSessions: Map<string, Promise<void>> = new Map();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Tells all sessions whether the page is active. A page that is not active may be frozen at any
   * moment.
   */
  setAwake(awake: boolean): void {
    for (const { session } of this.#openSessions.values()) {
      if (awake) session.wake();
      else session.sleep();
    }
  }

  /** Adds a connection. The first one opens the session. */
  connect({ agentName, sessionId, options }: ConnectMessage): Session {
    const key = keyOf(agentName, sessionId);
    const { outputs, tabs, lock } = this.#options;
    const [factory, previousClosed] = [this.#factoryOf(agentName), this.#closingSessions.get(key)];
    const entry = this.#openSessions.get(key) ?? {
      session: new Session({
        factory,
        key,
        agentName,
        sessionId,
        options,
        outputs,
        previousClosed,
        tabs,
        lock: lock(),
        startTabs: (direct) => new SharedTabHost(direct),
      }),
      connections: 0,
    };
    entry.connections += 1;
    this.#openSessions.set(key, entry);
    return entry.session;
  }

  /**
   * Removes a connection. If it was the last one, closes the session. `isGone`: the page
   * disappeared without a message.
   */
  leave({ agentName, sessionId }: ConnectMessage, isGone: boolean): void {
    const key = keyOf(agentName, sessionId);
    const entry = this.#openSessions.get(key);
    if (!entry || --entry.connections > 0) return;
    this.#openSessions.delete(key);
    const end = (): void => {
      if (this.#closingSessions.get(key) === ending) this.#closingSessions.delete(key);
    };
    // The session can be opened again even if its end failed.
    const ending: Promise<void> = entry.session.close({ isGone }).then(end, end);
    this.#closingSessions.set(key, ending);
  }

  /**
   * Returns the factory with a name. For an unknown one, returns a factory that throws, so that
   * agent calls reject.
   */
  #factoryOf(agentName: string | undefined): AgentFactory {
    const { factory: factories } = this.#options;
    if (typeof factories === 'function') return factories;
    const factory =
      agentName !== undefined && Object.hasOwn(factories, agentName)
        ? factories[agentName]
        : undefined;
    const names = Object.keys(factories).join(', ');
    const problem =
      agentName === undefined
        ? 'The worker has several agents; name one'
        : `The worker has no agent "${agentName}"`;
    return (
      factory ??
      (() => {
        throw new AgentError('CONFIGURATION', `${problem}: ${names}.`);
      })
    );
  }
}

function keyOf(agentName: string | undefined, sessionId: string): string {
  return JSON.stringify([agentName, sessionId]);
}
