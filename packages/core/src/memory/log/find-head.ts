import { AgentError } from '../../error/agent-error.ts';
import { notFound, type SessionStore } from './session-store.ts';
import { isOtherFormat } from './stored-batch.ts';
import { parseHead, type Head } from './stored-head.ts';

/** A head that a repair has found, and why it is not the one in the store. */
export interface FoundHead {
  readonly head?: Head | undefined;
  readonly error?: AgentError | undefined;
}

/**
 * Returns the head for a repair, in any store. Rebuilds a damaged or missing head from the store's
 * key list. `text`: the head in the store. Rejects if the head has another format.
 */
export async function findHead(store: SessionStore, text: string | undefined): Promise<FoundHead> {
  const { head: key } = store.keys;
  let damage: AgentError | undefined;
  try {
    if (text !== undefined) return { head: parseHead(text, key) };
  } catch (thrown) {
    damage = AgentError.from(thrown);
    if (isOtherFormat(damage)) throw damage;
  }
  const head = await store.rebuildHead(true);
  return { head, error: damage ?? (head && notFound(key, { details: { key } })) };
}
