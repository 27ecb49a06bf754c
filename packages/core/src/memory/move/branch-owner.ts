import { AgentError } from '../../error/agent-error.ts';
import { BranchLog } from '../branch/branch-log.ts';
import { recordsOf } from '../branch/branch.ts';
import { wait } from '../store/contention.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import type { LogRecord } from '../log/log-record.ts';
import type { SessionOwner } from '../log/stored-head.ts';
import { shortId } from '../log/session-keys.ts';
import { LogFold, type SessionView } from '../log/session-view.ts';
import { titleKey } from '../store/storage-keys.ts';
import type { ChooseOwner } from './owner-change.ts';

export interface BranchOwnerOptions {
  /** See `EchoMemoryOptions`. */
  readonly secrets: readonly string[];
  readonly echo?: string | undefined;
}

/**
 * Works as `changeOwner`, for a store whose reads may lag behind writes, such as Cloudflare KV. The
 * client's echo shows whether the state is current. Returns the new echo. Rejects with the errors of
 * `EchoMemory`. A turn that does not see the change yet can still be stored.
 */
export async function changeBranchOwner(
  values: KeyValueStore,
  key: string,
  { secrets, echo }: BranchOwnerOptions,
  choose: ChooseOwner,
): Promise<string | undefined> {
  const options = {
    secrets,
    echo,
    withoutEcho: 'latest' as const,
    isMoving: true,
    owner: undefined as SessionOwner | undefined,
    generateId: shortId,
    now: Date.now,
    compactAfter: 256,
    sleep: wait,
    waitMs: 3000,
    staleMs: 120_000,
  };
  const log = new BranchLog(values, key, options);
  const { yours, theirs } = await log.branches();
  if (theirs) throw changed();
  const view = new LogFold().load(yours ? recordsOf(yours) : []);
  view.checkWhole();
  const { owner } = yours?.head ?? {};
  const records = view.records();
  const change = await choose({ view, records, owner, tip: yours?.tip.hash });
  if (!change) return log.echo;
  options.owner = change.owner;
  const added = change.records ? replacing(view, change.records) : nothing;
  log.add(added);
  const next = new LogFold().add(records).add(added);
  await log.flush({
    compacted: () => next.records(),
    title: () => next.state[titleKey] as string | undefined,
    onReread: () => {
      throw changed();
    },
  });
  return log.echo;
}

/** A write has at least one record. */
const nothing: readonly LogRecord[] = [{ kind: 'state', state: {} }];

/** Returns records that replace the whole state of a session. */
function replacing(view: SessionView, records: readonly LogRecord[]): readonly LogRecord[] {
  const gone = Object.fromEntries(Object.keys(view.state).map((name) => [name, null]));
  const runId = crypto.randomUUID();
  return [
    { kind: 'truncate', ids: view.messages.map(({ id }) => id) },
    { kind: 'run-begin', runId },
    { kind: 'run-end', runId, reason: 'stop' },
    { kind: 'state', state: gone },
    ...records,
  ];
}

function changed(): AgentError {
  return new AgentError('SESSION_CONFLICT', 'The session has changed meanwhile.');
}
