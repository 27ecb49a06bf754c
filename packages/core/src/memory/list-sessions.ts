import { checkFields, checkOptions } from '../error/check-fields.ts';
import type { KeyValueStore } from './key-value-store.ts';
import { parseHead, sessionHeads } from './log/format/session-format.ts';

/** A session as `listSessions` returns it. */
export interface SessionInfo {
  readonly sessionId: string;
  readonly title?: string;
  /**
   * Times of the first and the last write, in milliseconds since 1970. Both are 0 if an early
   * version of the library wrote the session.
   */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Number of writes to the session's log so far. */
  readonly version: number;
}

/**
 * Returns the sessions in a store whose ids start with `startsWith` (default: all), ordered by id.
 * If the session's main record is damaged, or of a newer version of the library, `version` is -1
 * and both times are 0. Rejects with the errors of the store, and with `INVALID_INPUT` if `store` is
 * not a store.
 */
export async function listSessions(
  store: KeyValueStore,
  options: { readonly startsWith?: string } = {},
): Promise<readonly SessionInfo[]> {
  checkFields('INVALID_INPUT', 'listSessions(): the store', store, 'keys,getMany:function');
  checkOptions('INVALID_INPUT', 'listSessions()', options, 'startsWith:string|?');
  const { startsWith = '' } = options;
  const heads = await sessionHeads(store, startsWith);
  return heads.map(([sessionId, text, key]) => {
    try {
      const { title, createdAt, updatedAt, version } = parseHead(text, key);
      return { sessionId, createdAt, updatedAt, version, ...(title !== undefined && { title }) };
    } catch {
      return { sessionId, createdAt: 0, updatedAt: 0, version: -1 };
    }
  });
}
