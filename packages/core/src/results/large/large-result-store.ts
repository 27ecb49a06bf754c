import { AgentError, fieldOf } from '../../error/agent-error.ts';
import { checkId } from '../../error/options/check-id.ts';
import type { KeyValueStore } from '../../memory/store/key-value-store.ts';
import { joinValue, splitValue } from '../../memory/store/split-value.ts';
import { keyPrefix } from '../../memory/store/storage-keys.ts';
import { parseJson } from '../../message/json.ts';
import type { RunInfo } from '../../model/chat-model.ts';

/** Session of a result, and its user if the agent has one. */
type ResultOwner = Pick<RunInfo, 'sessionId' | 'userId'>;

/** Stores the texts of large results, by session, user and tool call. */
export interface LargeResultStore {
  write(owner: ResultOwner, toolUseId: string, text: string): Promise<void>;
  /**
   * Returns a text, or `undefined` if the text or a piece of it is missing. Rejects with
   * `STORAGE_FAILED` if the text has another format.
   */
  read(owner: ResultOwner, toolUseId: string): Promise<string | undefined>;
  /** Deletes the texts of a session: those of one user, or of all. */
  delete(sessionId: string, userId?: string): Promise<void>;
}

/** Version of a stored result. Others are refused. */
const resultVersion = 2;

/**
 * Returns a store of texts in a key-value store. A text that is longer than the store's maximum
 * value size is split into several values.
 */
export function largeResultStore(store: KeyValueStore): LargeResultStore {
  return {
    async write(owner, toolUseId, text) {
      const key = keyOf(owner, toolUseId);
      const values = splitValue(JSON.stringify(text), store.features.maxValueBytes);
      const pieces = values.map((value, index) => [`${key}:${index}`, value] as const);
      const head = JSON.stringify({ v: resultVersion, pieces: values.length });
      // The head is written last: if it exists, all pieces exist too.
      await store.setMany([...pieces, [key, head]]);
    },
    async read(owner, toolUseId) {
      const key = keyOf(owner, toolUseId);
      const head = parseJson((await store.get(key)) ?? '');
      if (head === undefined) return undefined;
      if (fieldOf(head, 'v') !== resultVersion)
        throw new AgentError('STORAGE_FAILED', 'The stored result has another format.');
      const length = Number(fieldOf(head, 'pieces'));
      const names = Array.from({ length }, (_, index) => `${key}:${index}`);
      const values = await store.getMany(names);
      if (values.size < length) return undefined;
      return String(JSON.parse(joinValue(names.map((name) => values.get(name)!))));
    },
    async delete(sessionId, userId) {
      const prefix = userId === undefined ? prefixOf(sessionId) : keyOf({ sessionId, userId }, '');
      await store.delete(await store.keys(prefix));
    },
  };
}

/**
 * Returns the beginning of a session's keys. The same store may hold the session log; keys of the
 * log begin with `s:`.
 */
function prefixOf(sessionId: string): string {
  checkId(sessionId, 'session id of a stored result');
  return `${keyPrefix.result}${encodeURIComponent(sessionId)}:`;
}

/** Returns the key of a text. Without a user, the user's part is empty. */
function keyOf({ sessionId, userId }: ResultOwner, toolUseId: string): string {
  if (userId !== undefined) checkId(userId, 'user id of a stored result');
  const [user, call] = [userId ?? '', toolUseId].map(encodeURIComponent);
  return `${prefixOf(sessionId)}${user}:${call}`;
}
