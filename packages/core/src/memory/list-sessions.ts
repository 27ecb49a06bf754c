import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { KeyValueStore } from './store/key-value-store.ts';
import { parseHead } from './log/stored/stored-head.ts';
import { keyPrefix } from './store/storage-keys.ts';

/** A session as `listSessions` returns it. */
export interface SessionInfo {
  readonly sessionId: string;
  readonly title?: string | undefined;
  /** Time of the first write, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Time of the last write, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** Number of writes to the session's log so far. */
  readonly version: number;
  /** Name of the place to which the session has moved. This store then has only a copy. */
  readonly movedTo?: string | undefined;
}

const headSuffix = ':head';

/**
 * Lists the sessions in a store whose ids start with `startsWith` (default: all), ordered by id.
 * If the session's main record is damaged, or of a newer version of the library, `version` is -1
 * and both times are 0. Rejects with the errors of the store, and with `INVALID_INPUT` if `store`
 * is not a store.
 */
export async function listSessions(
  store: KeyValueStore,
  options: { readonly startsWith?: string } = {},
): Promise<readonly SessionInfo[]> {
  checkFields('listSessions(): the store', store, { keys: func, getMany: func }, 'INVALID_INPUT');
  checkOptions('listSessions()', options, listSessionsOptions, 'INVALID_INPUT');
  // `encodeURIComponent` cannot encode half a surrogate pair at the end.
  const start = (options.startsWith ?? '').replace(/[\ud800-\udbff]$/, '');
  // The encoded beginning of an id is a beginning of the key.
  const sessionKeys = await store.keys(keyPrefix.session + encodeURIComponent(start));
  const headKeys = sessionKeys.filter((key) => key.endsWith(headSuffix));
  const heads = await store.getMany(headKeys);
  return headKeys.flatMap((key) => {
    const text = heads.get(key);
    return text === undefined ? [] : [sessionInfo(key, text)];
  });
}

const listSessionsOptions: OptionTable<{ readonly startsWith?: string }> = {
  startsWith: optional(string),
};

function sessionInfo(key: string, text: string): SessionInfo {
  const encoded = key.slice(keyPrefix.session.length, -headSuffix.length);
  const sessionId = decodeURIComponent(encoded);
  try {
    const { title, createdAt, updatedAt, version, ownership } = parseHead(text, key);
    const owner = ownership?.owner;
    const movedTo = owner?.includes(':') ? owner : undefined;
    return { sessionId, createdAt, updatedAt, version, title: title || undefined, movedTo };
  } catch {
    return { sessionId, createdAt: 0, updatedAt: 0, version: -1 };
  }
}
