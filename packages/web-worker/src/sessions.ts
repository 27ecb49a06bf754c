import { AgentError } from '@isoloop/core';
import { AgentSession, type AgentFactories, type AgentFactory } from './agent-session.ts';
import type { ConnectMessage } from './protocol.ts';

/** The sessions of a worker: one agent each, as long as somebody is connected. */
export class Sessions {
  readonly #factory: AgentFactory | AgentFactories;
  readonly #open: Map<string, { readonly session: AgentSession; connections: number }> = new Map();
  /** Sessions that were left and whose last run has not ended: their successor must not read the log before. */
  readonly #ending: Map<string, Promise<void>> = new Map();

  constructor(factory: AgentFactory | AgentFactories) {
    this.#factory = factory;
  }

  enter({ agent, sessionId, options }: ConnectMessage): AgentSession {
    const key = keyOf(agent, sessionId);
    const entry = this.#open.get(key) ?? {
      session: new AgentSession({ factory: this.#factoryOf(agent), agent, sessionId, options, after: this.#ending.get(key) }),
      connections: 0,
    };
    entry.connections += 1;
    this.#open.set(key, entry);
    return entry.session;
  }

  leave({ agent, sessionId }: ConnectMessage): void {
    const key = keyOf(agent, sessionId);
    const entry = this.#open.get(key);
    if (!entry || --entry.connections > 0) return;
    this.#open.delete(key);
    const ending = entry.session.close().then(() => {
      if (this.#ending.get(key) === ending) this.#ending.delete(key);
    });
    this.#ending.set(key, ending);
  }

  /** One that is not there shows in the calls. */
  #factoryOf(agent: string | undefined): AgentFactory {
    const factories = this.#factory;
    if (typeof factories === 'function') return factories;
    const factory = agent !== undefined && Object.hasOwn(factories, agent) ? factories[agent] : undefined;
    const names = Object.keys(factories).join(', ');
    const said = agent === undefined ? 'The worker has several agents; name one' : `The worker has no agent "${agent}"`;
    return (
      factory ??
      (() => {
        throw new AgentError('CONFIGURATION', `${said}: ${names}.`);
      })
    );
  }
}

function keyOf(agent: string | undefined, sessionId: string): string {
  return JSON.stringify([agent, sessionId]);
}
