import type { RequestBody } from '../http/request-body.ts';
import type { SessionTurn } from './session-turn.ts';

export interface NewTurn {
  readonly turn: SessionTurn;
  readonly model: string;
  /** The fields of a chat-completions request that say how to answer it, as posted. */
  readonly call?: RequestBody;
  /** Id of the answer for clients; it stays the same when another run resumes the turn. */
  readonly messageId: string;
  /** Id of the request that brought the turn, for the log. */
  readonly requestId: string;
  /** The client's idempotency key: a request with the same key gets this turn again. */
  readonly key?: string;
}

export interface QueuedTurn extends NewTurn {
  /** Number of the turn; it grows from turn to turn. */
  readonly id: number;
  /**
   * Whether the log has been cut for the turn. From then on its input is in the log, or about to
   * be.
   */
  readonly begun: boolean;
  /** Number of runs so far. */
  readonly attempts: number;
}

interface Row extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly begun: number;
  readonly attempts: number;
}

/** Largest piece of a turn, in bytes; a row holds at most 2 MB. */
const pieceBytes = 1_000_000;

/** The unfinished turns of a session, in the database of its object. They outlive the isolate. */
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
   * Returns the first turn that matches. Reads them one by one: together they may exceed an
   * isolate's memory.
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

  /** Records that the log is cut for the turn. */
  begin(id: number): void {
    this.#storage.sql.exec('UPDATE isoloop_turns SET begun = 1 WHERE id = ?', id);
  }

  /** Counts a run of the turn. */
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
