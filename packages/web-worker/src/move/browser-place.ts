import {
  checkOptions,
  string,
  optional,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import { storePlace, type SessionPlace } from '@isoloop/core/move';
import { IndexedDbStore } from '../store/indexed-db-store.ts';

/** The agent and the store of a `browserPlace()`. */
export interface BrowserPlaceOptions {
  /** Name of the agent, if the worker exposes several. */
  readonly agent?: string;
  /** Store of the conversations. Default: a new `IndexedDbStore` with the database `isoloop`. */
  readonly store?: IndexedDbStore;
}

/** Key of the name of this browser's database. */
const nameKey = 'place';

/**
 * Returns the conversations in this browser's IndexedDB as a place. Its name is random, and all
 * tabs of the browser use the same one. Rejects with the errors of the store.
 */
export function browserPlace(options: BrowserPlaceOptions = {}): Promise<SessionPlace> {
  checkOptions('browserPlace()', options, browserPlaceOptions);
  const { agent: agentName, store = new IndexedDbStore() } = options;
  return placeIn(store, agentName);
}

const browserPlaceOptions: OptionTable<BrowserPlaceOptions> = {
  agent: optional(string),
  store: optional(withMethod('get')),
};

async function placeIn(
  store: IndexedDbStore,
  agentName: string | undefined,
): Promise<SessionPlace> {
  await store.compareAndSet(nameKey, undefined, `browser:${crypto.randomUUID()}`);
  const name = (await store.get(nameKey)) ?? '';
  const keyOf = (sessionId: string): string =>
    agentName === undefined ? sessionId : `${agentName}/${sessionId}`;
  const place = storePlace({ name, store, keyOf });
  return {
    ...place,
    async read(sessionId) {
      const copy = await place.read(sessionId);
      if (!copy?.isRunning || (await isOpen(agentName, sessionId))) return copy;
      // No tab has the session, so its run was cut off.
      return { ...copy, isRunning: false };
    },
  };
}

/** Returns whether a worker has the session. `true` if the browser has no locks. */
async function isOpen(agentName: string | undefined, sessionId: string): Promise<boolean> {
  const { locks } = navigator as { readonly locks?: LockManager };
  if (!locks) return true;
  const { held: heldLocks = [] } = await locks.query();
  const end = `:session:${JSON.stringify([agentName, sessionId])}`;
  return heldLocks.some(({ name = '' }) => name.endsWith(end));
}
