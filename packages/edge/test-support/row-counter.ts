type Cursor = Pick<SqlStorageCursor<Record<string, SqlStorageValue>>, 'rowsWritten' | 'rowsRead'>;

/** Counts the rows that a Durable Object writes, as Cloudflare bills them. */
export class RowCounter {
  #cursors: Cursor[] = [];

  /** Returns the number of written rows since the last call of this method or `takeRead`. */
  take(): number {
    return this.#takeCursors().reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
  }

  /** Returns the number of rows that SQL statements read since the last call, as `take`. */
  takeRead(): number {
    return this.#takeCursors().reduce((sum, { rowsRead }) => sum + rowsRead, 0);
  }

  /**
   * Returns a state whose storage counts: `rowsWritten` of each SQL statement, and one row for each
   * alarm and each key that is set or deleted.
   */
  counted(state: DurableObjectState): DurableObjectState {
    const { storage } = state;
    const one = <K extends unknown[], T>(write: (...given: K) => T) => {
      return (...given: K): T => {
        this.#cursors.push({ rowsWritten: 1, rowsRead: 0 });
        return write(...given);
      };
    };
    const { kv, sql } = storage;
    const exec: SqlStorage['exec'] = (query, ...bindings) => {
      const cursor = sql.exec(query, ...bindings);
      // A cursor has its final count when its rows have been read.
      this.#cursors.push(cursor);
      return cursor as never;
    };
    const counting = withMembers(storage, {
      sql: withMembers(sql, { exec }),
      kv: withMembers(kv, { put: one(kv.put.bind(kv)), delete: one(kv.delete.bind(kv)) }),
      setAlarm: one(storage.setAlarm.bind(storage)),
    });
    return withMembers(state, { storage: counting });
  }

  #takeCursors(): readonly Cursor[] {
    const cursors = this.#cursors;
    this.#cursors = [];
    return cursors;
  }
}

/** Returns an object with some other members. The original's methods need it as `this`. */
function withMembers<T extends object>(original: T, members: object): T {
  return new Proxy(original, {
    get(target, name) {
      if (name in members) return Reflect.get(members, name);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
