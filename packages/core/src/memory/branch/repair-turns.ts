import type { AgentError } from '../../error/agent-error.ts';
import { shortId } from '../log/session-keys.ts';
import type { SessionStore } from '../log/session-store.ts';
import { LogState } from '../log/session-view.ts';
import { damaged, flushesOf, isDamage } from '../log/stored-batch.ts';
import { nextHead } from '../log/stored-head.ts';
import { coveredRefs, type Branch } from './branch.ts';
import { BranchReader } from './branch-reader.ts';
import { makeTurn } from './turn-write.ts';

/**
 * Repairs a session whose turns are batches of their own, as `EchoMemory` writes them: writes all
 * readable records as one turn. Returns the errors.
 */
export async function repairTurns(store: SessionStore): Promise<readonly AgentError[]> {
  const errors: AgentError[] = [];
  const reader = new BranchReader(store, { now: Date.now, staleMs: 0 });
  const { head, error } = await store.parseHead(await store.head(), { isRepair: true });
  // Without a readable head, the last turn is in the store's key list.
  const last = head && !error ? undefined : await lastTurn(store, reader, errors);
  const branch = last ?? (head && (await reader.read(head)));
  const headError = error ?? (last && damaged(store.keys.head));
  if (headError) errors.push(headError);
  for (const unread of branch?.unread ?? []) errors.push(unread.error);
  if (errors.length) await writeTurn(store, branch);
  return errors;
}

/** Reads the branch that ends with the newest readable turn. */
async function lastTurn(
  store: SessionStore,
  reader: BranchReader,
  errors: AgentError[],
): Promise<Branch | undefined> {
  const start = store.keys.turn('');
  const keys = await store.values.keys(start);
  const firsts = keys.filter((key) => !key.slice(start.length).includes(':'));
  let last: Branch | undefined;
  for (const [key, value] of await store.values.getMany(firsts)) {
    try {
      const branch = await reader.write(key.slice(start.length), value);
      if (branch && !(last && isNewer(last, branch))) last = branch;
    } catch (error) {
      if (!isDamage(error)) throw error;
      errors.push(error);
    }
  }
  return last;
}

function isNewer({ head: one }: Branch, { head: other }: Branch): boolean {
  return (one.version - other.version || one.updatedAt - other.updatedAt) > 0;
}

/** Writes the readable records as a turn that replaces all batches, and the head. */
async function writeTurn(store: SessionStore, branch: Branch | undefined): Promise<void> {
  const view = new LogState().load(branch ? flushesOf(branch) : []);
  const writing = { writer: shortId(), title: view.title, generateId: shortId, now: Date.now };
  const made = nextHead(branch?.head, writing);
  const replaces = branch ? coveredRefs(branch) : [];
  const content = { records: view.records(), replaces, index: [] };
  const { values, head } = await makeTurn(store, branch, content, { id: shortId(), made });
  await store.values.setMany([...values, head]);
}
