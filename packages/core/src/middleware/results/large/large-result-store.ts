import { AgentError, fieldOf } from '../../../error/agent-error.ts';
import { checkId } from '../../../error/check-id.ts';
import type { KeyValueStore } from '../../../memory/store/key-value-store.ts';
import { joinValue, splitValue } from '../../../memory/store/split-value.ts';
import { keyPrefix } from '../../../memory/store/storage-keys.ts';
import { parseJson } from '../../../message/json.ts';

/** Stores the texts of large results, by session and tool call. */
export interface LargeResultStore {
  write(sessionId: string, toolUseId: string, text: string): Promise<void>;
  /**
   * Returns a text, or `undefined` if the text or a piece of it is missing. Rejects with
   * `STORAGE_FAILED` if the text has another format.
   */
  read(sessionId: string, toolUseId: string): Promise<string | undefined>;
  /** Deletes the texts of a session. */
  delete(sessionId: string): Promise<void>;
}

/** Version of a stored result. Others are refused. */
const resultVersion = 2;

/**
 * Returns a store of texts in a key-value store. A text that is longer than the store's maximum
 * value size is split into several values.
 */
export function largeResultStore(store: KeyValueStore): LargeResultStore {
  return {
    async write(sessionId, toolUseId, text) {
      const key = keyOf(sessionId, toolUseId);
      const values = splitValue(JSON.stringify(text), store.features.maxValueBytes);
      const pieces = values.map((value, index) => [`${key}:${index}`, value] as const);
      const head = JSON.stringify({ v: resultVersion, pieces: values.length });
      // The head is written last: if it exists, all pieces exist too.
      await store.setMany([...pieces, [key, head]]);
    },
    async read(sessionId, toolUseId) {
      const key = keyOf(sessionId, toolUseId);
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
    async delete(sessionId) {
      await store.delete(await store.keys(keyOf(sessionId, '')));
    },
  };
}

/**
 * Returns the key of a text. The same store may hold the session log; keys of the log begin with
 * `s:`.
 */
function keyOf(sessionId: string, toolUseId: string): string {
  checkId(sessionId, 'session id of a stored result');
  const [session, call] = [sessionId, toolUseId].map(encodeURIComponent);
  return `${keyPrefix.result}${session}:${call}`;
}
