import { AgentError, SessionMemory } from '@isoloop/core';
import type { Memory } from '@isoloop/core';
import { titleOf } from '@isoloop/core/adapter';
import { logError } from '../http/error-response.ts';
import { askSession, sessionObject, type SessionCommand } from './session-command.ts';
import type { Identity, SessionRecord } from './session-record.ts';

export interface ListEntryOptions {
  readonly env: object;
  readonly identity: Identity;
  readonly record: SessionRecord;
  readonly memory: Memory;
}

/**
 * Sends the entry of a session to the list of the user's sessions. The list is a separate Durable
 * Object.
 */
export class ListEntry {
  readonly #options: ListEntryOptions;
  #telling: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ListEntryOptions) {
    this.#options = options;
  }

  /**
   * Sends the entry to the list, unless the list already has the last change. Updates are sent one
   * at a time. The next `update` retries a failed one.
   */
  update(): void {
    this.#telling = this.#telling.then(async () => {
      const { identity, record } = this.#options;
      const { at: updatedAt, count } = record.touched;
      if (this.#isClosed || record.isListed) return;
      try {
        const title = await this.#title();
        const chat = {
          id: identity.session,
          createdAt: identity.createdAt,
          updatedAt,
          ...(title && { title }),
        };
        await this.#tell({ type: 'put-in-list', chat });
        record.listed(count);
      } catch (error) {
        logError(error, 'list');
      }
    });
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
    await this.#tell({ type: 'take-from-list', id: this.#options.identity.session });
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
    const { ok, status } = await askSession(list, {
      user: identity.user,
      session: '',
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
