import { titleOf } from '@isoloop/core/host';
import { AgentError, SessionMemory, type Memory } from '@isoloop/core';
import { logError } from '../http/error-response.ts';
import { callSession, type SessionCommand } from '../session/commands.ts';
import { durableSessions } from '../session/homes.ts';
import type { Identity, IdentityRecord } from './identity.ts';

export interface ListEntryOptions {
  readonly env: object;
  readonly identity: Identity;
  readonly record: Pick<IdentityRecord, 'title'>;
  readonly memory: Memory;
  /** Returns the time of the session's last change, in milliseconds since 1970. */
  readonly changedAt: () => number;
}

/**
 * Sends the entry of a session to the list of the user's sessions. The list is a separate Durable
 * Object. Only the isolate's memory has the information whether the list has the last change. A new
 * isolate therefore sends the entry again.
 */
export class ListEntry {
  readonly #options: ListEntryOptions;
  #isSent = false;
  #lastSend: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ListEntryOptions) {
    this.#options = options;
  }

  /** Sends the entry to the list after a change of the session. */
  update(): void {
    this.#isSent = false;
    this.send();
  }

  /**
   * Sends the entry to the list, unless the list already has the last change. Updates are sent one
   * at a time. The next call retries a failed one.
   */
  send(): void {
    this.#lastSend = this.#lastSend.then(async () => {
      if (this.#isClosed || this.#isSent) return;
      // A change that comes meanwhile sets this back.
      this.#isSent = true;
      try {
        const { identity, changedAt } = this.#options;
        const { sessionId, createdAt } = identity;
        const title = await this.#title();
        const session = { sessionId, createdAt, updatedAt: changedAt(), title };
        await this.#send({ type: 'put-in-list', session });
      } catch (error) {
        this.#isSent = false;
        logError(error, 'list');
      }
    });
  }

  /** Whether the list has the last change. Await `sent` before. */
  get isSent(): boolean {
    return this.#isSent;
  }

  /** Resolves when all updates so far have succeeded or failed. */
  get whenSent(): Promise<void> {
    return this.#lastSend;
  }

  /** Stops further updates of the list. */
  close(): void {
    this.#isClosed = true;
  }

  async remove(): Promise<void> {
    await this.#lastSend;
    const { sessionId } = this.#options.identity;
    await this.#send({ type: 'take-from-list', sessionId });
  }

  /**
   * Returns the title, or `undefined` if the conversation cannot be read. The list also shows a
   * conversation without a title, so that the user can delete it.
   */
  async #title(): Promise<string | undefined> {
    const { memory, record } = this.#options;
    if (record.title !== undefined) return record.title;
    try {
      const view = memory instanceof SessionMemory && (await memory.view());
      const title = view && view.state['title'];
      if (typeof title === 'string') return title;
      return titleOf(await memory.read());
    } catch (error) {
      logError(error, 'title');
      return undefined;
    }
  }

  async #send(command: SessionCommand): Promise<void> {
    const { env, identity } = this.#options;
    const { user } = identity;
    const objects = durableSessions(env);
    if (!objects) return;
    const request = { user, sessionId: '', requestId: 'list', command };
    const { ok, status } = await callSession(objects, request);
    if (ok) return;
    const message = `The list of sessions could not be written (${status})`;
    throw new AgentError('STORAGE_FAILED', message, { retryable: true });
  }
}
