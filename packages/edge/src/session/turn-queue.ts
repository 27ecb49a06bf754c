import type { RequestBody } from '../http/request-body.ts';
import type { SessionTurn } from './session-turn.ts';

export interface NewTurn {
  readonly turn: SessionTurn;
  readonly model: string;
  /** Result of `callFields`, for a turn that a client of OpenAI asked for. */
  readonly call?: RequestBody;
  /** Id of the answer for clients. The id stays the same when another run resumes the turn. */
  readonly messageId: string;
  /** Id of the HTTP request that asked for the turn, for the Worker's log. */
  readonly requestId: string;
  /**
   * Idempotency key of the client. A request with the same key gets the answer of this turn again.
   */
  readonly key?: string;
}

export interface QueuedTurn extends NewTurn {
  /** Number of the turn. Later turns have larger numbers. */
  readonly id: number;
  /**
   * Whether the messages that the turn replaces have been removed from the log. After the removal,
   * the turn's input is in the log or about to be stored.
   */
  readonly begun: boolean;
  /** Number of times that the turn was started or resumed so far. */
  readonly attempts: number;
}

interface Row extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly begun: number;
  readonly attempts: number;
}

/** Maximum size of a stored piece of a turn, in bytes. A row of the database has at most 2 MB. */
const pieceBytes = 1_000_000;

/**
 * Unfinished turns of a session, in the database of its Durable Object. The turns remain when the
 * isolate dies.
 */
export class TurnQueue {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS isoloop_turns (id INTEGER PRIMARY KEY AUTOINCREMENT, begun INTEGER NOT NULL, attempts INTEGER NOT NULL)',
    );
    storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS isoloop_turn_pieces (turn INTEGER, piece INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (turn, piece)) WITHOUT ROWID',
    );
  }

  add(turn: NewTurn): QueuedTurn {
    const { sql } = this.#storage;
    const bytes = new TextEncoder().encode(JSON.stringify(turn));
    return this.#storage.transactionSync(() => {
      const { id } = sql
        .exec<{ id: number }>(
          'INSERT INTO isoloop_turns (begun, attempts) VALUES (0, 0) RETURNING id',
        )
        .one();
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        sql.exec(
          'INSERT INTO isoloop_turn_pieces VALUES (?, ?, ?)',
          id,
          at,
          bytes.slice(at, at + pieceBytes),
        );
      }
      return { ...turn, id, begun: false, attempts: 0 };
    });
  }

  first(): QueuedTurn | undefined {
    const [row] = this.#storage.sql.exec<Row>('SELECT * FROM isoloop_turns ORDER BY id LIMIT 1');
    return row && this.#read(row);
  }

  /**
   * Returns the first turn that matches. Reads one turn at a time, because all turns together may
   * need more memory than the isolate has.
   */
  find(isSought: (turn: QueuedTurn) => boolean): QueuedTurn | undefined {
    for (const row of this.#storage.sql
      .exec<Row>('SELECT * FROM isoloop_turns ORDER BY id')
      .toArray()) {
      const turn = this.#read(row);
      if (isSought(turn)) return turn;
    }
    return undefined;
  }

  get size(): number {
    return this.#storage.sql.exec<{ n: number }>('SELECT COUNT(*) AS n FROM isoloop_turns').one().n;
  }

  /**
   * Stores that the turn has begun: the messages that the turn replaces are removed from the log.
   */
  begin(id: number): void {
    this.#storage.sql.exec('UPDATE isoloop_turns SET begun = 1 WHERE id = ?', id);
  }

  /** Counts one more start or resumption of the turn. */
  attempt(id: number): void {
    this.#storage.sql.exec('UPDATE isoloop_turns SET attempts = attempts + 1 WHERE id = ?', id);
  }

  remove(id: number): void {
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec('DELETE FROM isoloop_turns WHERE id = ?', id);
      this.#storage.sql.exec('DELETE FROM isoloop_turn_pieces WHERE turn = ?', id);
    });
  }

  #read(row: Row): QueuedTurn {
    const { sql } = this.#storage;
    const pieces = [
      ...sql.exec<{ bytes: ArrayBuffer }>(
        'SELECT bytes FROM isoloop_turn_pieces WHERE turn = ? ORDER BY piece',
        row.id,
      ),
    ];
    const decoder = new TextDecoder();
    const text =
      pieces.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join('') +
      decoder.decode();
    return { ...(JSON.parse(text) as NewTurn), ...row, begun: row.begun > 0 };
  }
}
