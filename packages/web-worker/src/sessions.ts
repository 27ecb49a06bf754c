import type { JsonValue } from '@isoloop/core';
import { AgentSession, type AgentFactory } from './agent-session.ts';

/** The sessions of a worker: one agent each, as long as somebody is connected. */
export class Sessions {
  readonly #factory: AgentFactory;
  readonly #open: Map<string, { readonly session: AgentSession; connections: number }> = new Map();
  /** Sessions that were left and whose last run has not ended: their successor must not read the log before. */
  readonly #ending: Map<string, Promise<void>> = new Map();

  constructor(factory: AgentFactory) {
    this.#factory = factory;
  }

  enter(sessionId: string, options: JsonValue): AgentSession {
    const entry = this.#open.get(sessionId) ?? {
      session: new AgentSession({ factory: this.#factory, sessionId, options, after: this.#ending.get(sessionId) }),
      connections: 0,
    };
    entry.connections += 1;
    this.#open.set(sessionId, entry);
    return entry.session;
  }

  leave(sessionId: string): void {
    const entry = this.#open.get(sessionId);
    if (!entry || --entry.connections > 0) return;
    this.#open.delete(sessionId);
    const ending = entry.session.close().then(() => {
      if (this.#ending.get(sessionId) === ending) this.#ending.delete(sessionId);
    });
    this.#ending.set(sessionId, ending);
  }
}
