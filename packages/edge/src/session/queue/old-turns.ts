import { joinPieces, type TurnPiece } from './turn-pieces.ts';

/** Unfinished turn, as release 0.1 stored it. */
export interface OldTurn {
  /** The turn as JSON. */
  readonly json: string;
  readonly begun: boolean;
  readonly attempts: number;
}

interface Row extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly begun: number;
  readonly attempts: number;
}

/**
 * Yields the unfinished turns in the tables of release 0.1, one at a time, in their order. Then
 * removes the tables.
 */
export function* takeOldTurns(sql: SqlStorage): Generator<OldTurn> {
  if (!hasTable(sql, 'isoloop_turns')) return;
  const query = 'SELECT bytes FROM isoloop_turn_pieces WHERE turn = ? ORDER BY piece';
  for (const { id, begun, attempts } of sql
    .exec<Row>('SELECT * FROM isoloop_turns ORDER BY id')
    .toArray()) {
    const json = joinPieces(sql.exec<TurnPiece>(query, id));
    yield { json, begun: begun > 0, attempts };
  }
  sql.exec('DROP TABLE isoloop_turns');
  sql.exec('DROP TABLE IF EXISTS isoloop_turn_pieces');
}

/** Returns whether the database has the table. */
export function hasTable(sql: SqlStorage, name: string): boolean {
  return sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', name).toArray().length > 0;
}
