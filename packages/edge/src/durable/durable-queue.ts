import type {
  FailedMessage,
  NewTurn,
  QueuedTurn,
  TurnQueue,
  TurnState,
} from '../queue/turn-queue.ts';

interface Row extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly begun: number;
  readonly attempts: number;
}

/** Part of a turn's JSON, in UTF-8. */
interface TurnPiece extends Record<string, SqlStorageValue> {
  readonly bytes: ArrayBuffer;
}

/** Numbers about the table. Only the queue changes them, so it reads them once. */
interface Numbers extends Record<string, SqlStorageValue> {
  /**
   * Number of rows when a turn was last added. While there is only one row, no other row must be
   * deleted, and each change is a single statement.
   */
  readonly rowCount: number;
  /** Number of unfinished turns. */
  readonly size: number;
  readonly lastId: number | null;
  /** Time of the session's last change, in milliseconds since 1970, or 0. */
  readonly changedAt: number;
}

/** Maximum size of a stored piece of a turn, in bytes. A row of the database has at most 2 MB. */
const pieceBytes = 1_000_000;

/** Key of the number of the turn that waits for results of tools. */
const blockedKey = 'blocked';
/** Beginning of the keys of failed messages. */
const failedPrefix = 'failed:';

/** Unfinished turns. The pieces after the first one have only a number and bytes. */
const unfinishedTurns = 'FROM isoloop_queue WHERE piece = 0 AND bytes IS NOT NULL';

/**
 * Unfinished turns of a session, in the database of its Durable Object. The turns remain when the
 * isolate dies. The queue must be the only writer of its table, because it keeps the first turn and
 * some numbers in memory.
 *
 * Each written row costs money. So the row of an ended turn stays, without the turn's bytes. It
 * keeps the time of the session's last change, and the next turn overwrites it.
 */
export class DurableQueue implements TurnQueue {
  readonly #storage: DurableObjectStorage;
  #numbers: Numbers;
  /** First unfinished turn. `undefined` if there is none, or if it has not been read yet. */
  #firstTurn: QueuedTurn | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    const columns =
      'turn INTEGER, piece INTEGER, begun INTEGER, attempts INTEGER, changed_at INTEGER, bytes BLOB';
    storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS isoloop_queue
        (${columns}, PRIMARY KEY (turn, piece)) WITHOUT ROWID`,
    );
    const query = `SELECT COUNT(*) AS rowCount, (SELECT COUNT(*) ${unfinishedTurns}) AS size,
      MAX(turn) AS lastId, IFNULL(MAX(changed_at), 0) AS changedAt FROM isoloop_queue`;
    this.#numbers = storage.sql.exec<Numbers>(query).one();
  }

  add(turn: NewTurn, state: TurnState = { hasBegun: false, attempts: 0 }): QueuedTurn {
    const { hasBegun, attempts } = state;
    const { sql } = this.#storage;
    const { size, lastId, rowCount } = this.#numbers;
    const isEmpty = size === 0;
    // A message that waits counts as a change, so that the session does not expire with it.
    const changedAt = isEmpty ? this.changedAt : Math.max(this.changedAt, Date.now());
    // The first turn of the queue overwrites the last ended one.
    const id = isEmpty ? (lastId ?? 1) : (lastId ?? 0) + 1;
    const bytes = new TextEncoder().encode(JSON.stringify(turn));
    const pieceCount = Math.ceil(bytes.length / pieceBytes);
    // Only the first piece of a turn has its state.
    const firstColumns = [Number(hasBegun), attempts, changedAt];
    const insertSql = 'INSERT OR REPLACE INTO isoloop_queue VALUES (?, ?, ?, ?, ?, ?)';
    this.#write(Math.max(rowCount, pieceCount), () => {
      if (isEmpty && rowCount > 1) sql.exec('DELETE FROM isoloop_queue WHERE turn < ?', id);
      for (let from = 0; from < bytes.length; from += pieceBytes) {
        const piece = bytes.slice(from, from + pieceBytes);
        const columns = from === 0 ? firstColumns : [null, null, null];
        sql.exec(insertSql, id, from, ...columns, piece);
      }
    });
    this.#numbers = {
      rowCount: isEmpty ? pieceCount : rowCount + pieceCount,
      size: size + 1,
      lastId: id,
      changedAt,
    };
    const queuedTurn = { ...turn, ...state, id };
    if (isEmpty) this.#firstTurn = queuedTurn;
    return queuedTurn;
  }

  first(): QueuedTurn | undefined {
    if (this.size === 0) return undefined;
    return (this.#firstTurn ??= this.#read(this.#rows('ORDER BY turn LIMIT 1')[0]!));
  }

  /**
   * Returns the first turn that matches. Reads one turn at a time, because all turns together may
   * need more memory than the isolate has.
   */
  find(isSought: (turn: QueuedTurn) => boolean): QueuedTurn | undefined {
    const firstTurn = this.first();
    if (!firstTurn || isSought(firstTurn)) return firstTurn;
    if (this.size === 1) return undefined;
    for (const row of this.#rows('ORDER BY turn LIMIT -1 OFFSET 1')) {
      const turn = this.#read(row);
      if (isSought(turn)) return turn;
    }
    return undefined;
  }

  all(): readonly QueuedTurn[] {
    const turns: QueuedTurn[] = [];
    this.find((turn) => {
      turns.push(turn);
      return false;
    });
    return turns;
  }

  get size(): number {
    return this.#numbers.size;
  }

  get blockedId(): number | undefined {
    return this.#storage.kv.get<number>(blockedKey);
  }

  block(id: number): void {
    this.#storage.kv.put(blockedKey, id);
    this.#storage.sql.exec(
      'UPDATE isoloop_queue SET begun = 0, attempts = 0 WHERE turn = ? AND piece = 0',
      id,
    );
    if (this.#firstTurn?.id === id)
      this.#firstTurn = { ...this.#firstTurn, hasBegun: false, attempts: 0 };
  }

  failedMessages(): readonly FailedMessage[] {
    const entries = this.#storage.kv.list<FailedMessage>({ prefix: failedPrefix });
    return [...entries].map(([, failed]) => failed);
  }

  /** Throws if the message is larger than a value may be, which is 2 MB. */
  keepFailed(failed: FailedMessage): void {
    this.#storage.kv.put(failedPrefix + failed.message.id, failed);
  }

  forgetFailed(messageId: string): boolean {
    const key = failedPrefix + messageId;
    return this.#storage.kv.get(key) !== undefined && this.#storage.kv.delete(key);
  }

  /** Time of the session's last change, in milliseconds since 1970. 0 if no turn has changed it. */
  get changedAt(): number {
    return this.#numbers.changedAt;
  }

  begin(id: number): void {
    this.#storage.sql.exec(
      'UPDATE isoloop_queue SET begun = 1 WHERE turn = ? AND piece = 0 AND begun = 0',
      id,
    );
    if (this.#firstTurn?.id === id) this.#firstTurn = { ...this.#firstTurn, hasBegun: true };
  }

  attempt(id: number): void {
    this.#storage.sql.exec(
      'UPDATE isoloop_queue SET attempts = attempts + 1 WHERE turn = ? AND piece = 0',
      id,
    );
    if (this.#firstTurn?.id === id)
      this.#firstTurn = { ...this.#firstTurn, attempts: this.#firstTurn.attempts + 1 };
  }

  end(id: number, changedAt = 0): void {
    // The time must not decrease when the clock moves back.
    const at = Math.max(changedAt, this.changedAt);
    const { sql } = this.#storage;
    this.#write(this.#numbers.rowCount, () => {
      sql.exec(
        'UPDATE isoloop_queue SET bytes = NULL, changed_at = ? WHERE turn = ? AND piece = 0',
        at,
        id,
      );
      if (this.#numbers.rowCount > 1)
        sql.exec('DELETE FROM isoloop_queue WHERE turn = ? AND piece > 0', id);
    });
    this.#numbers = { ...this.#numbers, size: this.size - 1, changedAt: at };
    if (this.#firstTurn?.id === id) this.#firstTurn = undefined;
    // A deletion of nothing costs a written row.
    if (this.blockedId !== undefined) this.#storage.kv.delete(blockedKey);
  }

  #rows(order: string): readonly Row[] {
    const query = `SELECT turn AS id, begun, attempts ${unfinishedTurns} ${order}`;
    return this.#storage.sql.exec<Row>(query).toArray();
  }

  /** Writes as a whole. A single row needs no transaction, which would cost more than the write. */
  #write(rowCount: number, write: () => void): void {
    if (rowCount > 1) this.#storage.transactionSync(write);
    else write();
  }

  #read(row: Row): QueuedTurn {
    const { id, attempts } = row;
    const pieces = this.#storage.sql.exec<TurnPiece>(
      'SELECT bytes FROM isoloop_queue WHERE turn = ? ORDER BY piece',
      id,
    );
    const turn = JSON.parse(joinPieces(pieces)) as NewTurn;
    return { ...turn, id, attempts, hasBegun: row.begun > 0 };
  }
}

/** Returns the text of the pieces. A character may be in two pieces. */
function joinPieces(pieces: Iterable<TurnPiece>): string {
  const decoder = new TextDecoder();
  let text = '';
  for (const { bytes } of pieces) text += decoder.decode(bytes, { stream: true });
  return text + decoder.decode();
}
