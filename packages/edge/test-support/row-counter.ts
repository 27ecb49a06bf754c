/** Counts the rows that a Durable Object writes, as Cloudflare bills them. */
export class RowCounter {
  #cursors: Pick<SqlStorageCursor<Record<string, SqlStorageValue>>, 'rowsWritten'>[] = [];

  /** Returns the number of rows since the last call. */
  take(): number {
    const cursors = this.#cursors;
    this.#cursors = [];
    return cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
  }

  /**
   * Returns a state whose storage counts: `rowsWritten` of each SQL statement, and one row for each
   * alarm and each key that is set or deleted.
   */
  counted(state: DurableObjectState): DurableObjectState {
    const { storage } = state;
    const one = <K extends unknown[], T>(write: (...given: K) => T) => {
      return (...given: K): T => {
        this.#cursors.push({ rowsWritten: 1 });
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
