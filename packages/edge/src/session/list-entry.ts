import { AgentError, SessionMemory } from '@isoloop/core';
import type { Memory } from '@isoloop/core';
import { titleOf } from '@isoloop/core/adapter';
import { logError } from '../http/error-response.ts';
import { callSession, sessionObject, type SessionCommand } from './session-command.ts';
import type { Identity, SessionRecord } from './session-record.ts';

export interface ListEntryOptions {
  readonly env: object;
  readonly identity: Identity;
  readonly record: Pick<SessionRecord, 'title'>;
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
  /** Number of changes, and number of changes that the list has. */
  #changes = 1;
  #told = 0;
  #telling: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ListEntryOptions) {
    this.#options = options;
  }

  /** Sends the entry to the list after a change of the session. */
  update(): void {
    this.#changes += 1;
    this.tell();
  }

  /**
   * Sends the entry to the list, unless the list already has the last change. Updates are sent one
   * at a time. The next call retries a failed one.
   */
  tell(): void {
    this.#telling = this.#telling.then(async () => {
      const changes = this.#changes;
      if (this.#isClosed || this.isTold) return;
      try {
        const { identity, changedAt } = this.#options;
        const title = await this.#title();
        const chat = {
          sessionId: identity.sessionId,
          createdAt: identity.createdAt,
          updatedAt: changedAt(),
          title,
        };
        await this.#tell({ type: 'put-in-list', chat });
        this.#told = changes;
      } catch (error) {
        logError(error, 'list');
      }
    });
  }

  /** Whether the list has the last change. */
  get isTold(): boolean {
    return this.#told === this.#changes;
  }

  /** Resolves when all updates so far have succeeded or failed. */
  get told(): Promise<void> {
    return this.#telling;
  }

  /** Stops further updates of the list. */
  close(): void {
    this.#isClosed = true;
  }

  async remove(): Promise<void> {
    await this.#telling;
    const { sessionId } = this.#options.identity;
    await this.#tell({ type: 'take-from-list', sessionId });
  }

  /**
   * Returns the title, or `undefined` if the conversation cannot be read. The list also shows a
   * conversation without a title, so that the user can delete it.
   */
  async #title(): Promise<string | undefined> {
    const { memory, record } = this.#options;
    const given = record.title;
    if (given !== undefined) return given;
    try {
      if (memory instanceof SessionMemory) {
        const { title } = (await memory.view()).state;
        if (typeof title === 'string') return title;
      }
      return titleOf(await memory.read());
    } catch (error) {
      logError(error, 'title');
      return undefined;
    }
  }

  async #tell(command: SessionCommand): Promise<void> {
    const { env, identity } = this.#options;
    const list = sessionObject(env, identity.user, '');
    if (!list) return;
    const { ok, status } = await callSession(list, {
      user: identity.user,
      sessionId: '',
      requestId: 'list',
      command,
    });
    if (!ok)
      throw new AgentError(
        'STORAGE_FAILED',
        `The list of sessions could not be written (${status})`,
        { retryable: true },
      );
  }
}
