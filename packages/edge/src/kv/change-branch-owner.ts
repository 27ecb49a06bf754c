import type { KeyValueStore } from '@isoloop/core';
import { endedCallsKey, type ChooseOwner } from '@isoloop/core/move';
import {
  changedError,
  flushesOf,
  SessionFold,
  type LogRecord,
  type Ownership,
  type SessionView,
} from '@isoloop/core/log';
import { BranchLog, branchDefaults, type BranchLogOptions } from './log/branch-log.ts';

/**
 * Works as `changeOwner` of `@isoloop/core/host`, for a store whose reads may lag behind writes,
 * such as Cloudflare KV. The client's echo shows whether the state is current. Returns the new
 * echo. Rejects with the errors of `EchoMemory`. A turn that does not see the change yet can still
 * be stored.
 */
export async function changeBranchOwner(
  store: KeyValueStore,
  key: string,
  { secrets, echo }: Pick<BranchLogOptions, 'secrets' | 'echo'>,
  choose: ChooseOwner,
): Promise<string | undefined> {
  const options = {
    ...branchDefaults(),
    secrets,
    echo,
    withoutEcho: 'latest' as const,
    isMoving: true,
    ownership: undefined as Ownership | undefined,
  };
  const log = new BranchLog(store, key, options);
  const { yours, theirs } = await log.branches();
  if (theirs) throw changedError();
  const fold = new SessionFold().load(yours ? flushesOf(yours) : []);
  fold.checkWhole();
  const { ownership } = yours?.head ?? {};
  const records = fold.records();
  const change = await choose({ view: fold, records, ownership, tip: yours?.head.last });
  if (!change) return log.echo;
  options.ownership = change.ownership;
  const newRecords = change.records ? replacementRecords(fold, change.records) : emptyChange;
  log.add(newRecords);
  const nextFold = new SessionFold().add(records).add(newRecords);
  await log.flush({
    fold: () => nextFold,
    onReread: () => {
      throw changedError();
    },
  });
  return log.echo;
}

/** A write has at least one record. */
const emptyChange: readonly LogRecord[] = [{ kind: 'state', state: {} }];

/** Returns records that replace the whole state of a session. */
function replacementRecords(
  view: SessionView,
  records: readonly LogRecord[],
): readonly LogRecord[] {
  const names = Object.keys(view.state).filter((name) => name !== endedCallsKey);
  const removal = Object.fromEntries(names.map((name) => [name, null]));
  const runId = crypto.randomUUID();
  return [
    { kind: 'truncate', ids: view.messages.map(({ id }) => id) },
    { kind: 'run-begin', runId },
    { kind: 'run-end', runId, reason: 'stop' },
    { kind: 'state', state: removal },
    ...records,
  ];
}
