import { AgentError } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import { parseMessages } from '../message/validate-message.ts';
import type { KeyValueStore } from './key-value-store.ts';
import type { Memory } from './memory.ts';
import type { LogRecord } from './session-format.ts';
import { SessionLog } from './session-log.ts';

export interface SessionMemoryOptions {
  /** `step` (default): each append is in the store before it resolves. `turn`: appends wait for `flush`. */
  readonly durability?: 'step' | 'turn';
  /** Names what is written; letters, digits and dashes, never the same twice. Default: random. */
  readonly generateId?: () => string;
}

/**
 * A conversation kept in a store, as an append-only log: an append costs the same at any length.
 *
 * What could not be written is held back, is part of what `read` gives, and goes out with the next flush: after a rejected append
 * call `flush`, do not append the messages again.
 *
 * Two writers on one session never overwrite each other's records. One that finds, at its flush, that the other has written reads
 * the log anew and adds its own behind it; what `read` gives then has both. A store with `compareAndSet` makes this certain.
 * Without one, of two flushes at the same moment the later head wins, and the other's records come back at that writer's next
 * flush; a writer that is gone by then leaves them unread. A session that another writer cleared begins anew.
 */
export class SessionMemory implements Memory {
  readonly sessionId: string;
  readonly #log: SessionLog;
  readonly #durability: 'step' | 'turn';
  #messages: Msg[] | undefined;
  /** What `read` gave, until the messages change. */
  #snapshot: readonly Msg[] | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  /** Throws `INVALID_INPUT` for a session id that is empty or has more than 400 characters, percent-encoded. */
  constructor(store: KeyValueStore, sessionId: string, options: SessionMemoryOptions = {}) {
    const { durability = 'step', generateId = shortId } = options;
    this.sessionId = sessionId;
    this.#log = new SessionLog(store, sessionId, generateId);
    this.#durability = durability;
  }

  /** Flushes so far, as this memory knows the session; 0 before it was first read. */
  get sessionVersion(): number {
    return this.#log.version;
  }

  /** Rejects with `INVALID_MESSAGE`, and takes nothing, where one of them is no `Msg`. */
  append(messages: readonly Msg[]): Promise<void> {
    return this.#run(() => {
      parseMessages(messages);
      return this.#add(messages.map((message): LogRecord => ({ kind: 'message', message })));
    });
  }

  delete(ids: readonly string[]): Promise<void> {
    return this.#run(async () => {
      const gone = new Set(ids);
      const found = (await this.#load()).map((message) => message.id).filter((id) => gone.has(id));
      if (found.length > 0) await this.#add([{ kind: 'cut', ids: found }]);
    });
  }

  read(): Promise<readonly Msg[]> {
    return this.#run(async () => {
      const messages = await this.#load();
      return (this.#snapshot ??= [...messages]);
    });
  }

  flush(): Promise<void> {
    return this.#run(() => this.#flush());
  }

  clear(): Promise<void> {
    return this.#run(async () => {
      await this.#log.clear();
      this.#show([]);
    });
  }

  async #add(records: readonly LogRecord[]): Promise<void> {
    this.#log.add(records);
    if (this.#messages) this.#messages = apply(this.#messages, records);
    this.#snapshot = undefined;
    await this.#load();
    if (this.#durability === 'step') await this.#flush();
  }

  #flush(): Promise<void> {
    return this.#log.flush((records) => this.#show(records));
  }

  async #load(): Promise<Msg[]> {
    return this.#messages ?? this.#show(await this.#log.load());
  }

  #show(records: readonly LogRecord[]): Msg[] {
    parseMessages(records.flatMap((record) => (record.kind === 'message' ? [record.message] : [])));
    this.#snapshot = undefined;
    return (this.#messages = apply([], records));
  }

  /** One operation at a time, in the order they were called. */
  #run<T>(operation: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(operation).catch((error: unknown) => {
      throw AgentError.from(error, 'STORAGE_FAILED');
    });
    this.#queue = result.catch(() => {});
    return result;
  }
}

/** The history after these records. Adds to `messages`. */
function apply(messages: Msg[], records: readonly LogRecord[]): Msg[] {
  let history = messages;
  for (const record of records) {
    if (record.kind === 'message') {
      history.push(record.message);
    } else {
      const gone = new Set(record.ids);
      history = history.filter((message) => !gone.has(message.id));
    }
  }
  return history;
}

function shortId(): string {
  return crypto.randomUUID().slice(0, 18);
}
