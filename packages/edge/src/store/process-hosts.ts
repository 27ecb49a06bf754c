import type { SessionObjects } from '../settings/session-home.ts';
import type { HandlerSettings } from '../settings/handler-options.ts';
import type { KeyValueStore } from '@isoloop/core';
import { listInStore, pageOf } from '../session/list-in-store.ts';
import { ProcessHost } from './process-host.ts';
import { answerCommand, answerRequest } from '../session/command-handler.ts';
import type { SessionRequest } from '../session/commands.ts';

/** Number of idle sessions that stay in memory, for repeated requests with one key. */
const maxIdleSessions = 100;

interface Entry {
  readonly session: ProcessHost;
  /** Number of requests that use the session now. */
  requestCount: number;
}

/**
 * Sessions of one process, with their logs in a store. All routes use these sessions like Durable
 * Objects.
 */
export class ProcessHosts {
  /** Settings for turns that begin now. */
  settings: HandlerSettings;
  readonly #store: KeyValueStore;
  /** Open sessions by key, the one that was used last at the end. */
  readonly #openSessions: Map<string, Entry> = new Map();
  /** Sessions that are being deleted, by key. */
  readonly #deletions: Map<string, Promise<unknown>> = new Map();

  constructor(settings: HandlerSettings, store: KeyValueStore) {
    this.settings = settings;
    this.#store = store;
  }

  /** Returns the objects of the sessions. `env`: bindings for new agents. */
  bind(env: object): SessionObjects {
    return (key) => ({
      fetch: (_address, { body }) => {
        const request = JSON.parse(String(body)) as SessionRequest;
        return answerRequest(this.settings, request, () => this.#answer(key, request, env));
      },
    });
  }

  async #answer(key: string, request: SessionRequest, env: object): Promise<Response> {
    const { user, sessionId, command } = request;
    if (command.type === 'list')
      return Response.json({ chats: pageOf(await listInStore(this.#store, user), command) });
    await this.#deletions.get(key)?.catch(() => {});
    const entry = this.#openSessions.get(key) ?? {
      session: new ProcessHost({
        settings: () => this.settings,
        store: this.#store,
        key,
        setup: { env, user, sessionId },
      }),
      requestCount: 0,
    };
    this.#openSessions.delete(key);
    this.#openSessions.set(key, entry);
    entry.requestCount += 1;
    const response =
      command.type === 'turn' ? entry.session.turn(command) : answerCommand(entry.session, request);
    if (command.type === 'delete') this.#deletions.set(key, response);
    try {
      const answer = await response;
      if (answer) return answer;
      return await this.#answer(key, request, env);
    } finally {
      entry.requestCount -= 1;
      if (command.type === 'delete') {
        // A deleted session runs no further turns.
        this.#deletions.delete(key);
        this.#openSessions.delete(key);
      }
      this.#forgetIdle();
    }
  }

  #forgetIdle(): void {
    for (const [key, { session, requestCount }] of this.#openSessions) {
      if (this.#openSessions.size <= maxIdleSessions) return;
      if (requestCount === 0 && !session.isBusy) this.#openSessions.delete(key);
    }
  }
}
