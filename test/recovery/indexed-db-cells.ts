import type { RecoveryAction, RecoveryCell, RecoveryFailure } from './recovery-cell.ts';

/** Cell of a conversation whose agent runs in a worker of the browser. */
export interface IndexedDbCell extends RecoveryCell {
  readonly store: 'IndexedDB';
}

type Outcome = RecoveryCell['outcome'];

const promise = (text: string): Outcome => ({ kind: 'promise', text });

/**
 * Returns the promises of an action. Each failure ends the worker, so all of them share one
 * mechanism: the next worker continues the run from its log. `kept`: what the user did, as the
 * conversation has it.
 */
function row(kept: string): Readonly<Record<RecoveryFailure, Outcome>> {
  return {
    reload: promise(`The loaded page continues the answer, and ${kept}.`),
    'closed tab': promise(`A page that is opened later continues the answer, and ${kept}.`),
    'killed worker': promise(
      `The page gets WORKER_TERMINATED, a new worker continues the answer, and ${kept}.`,
    ),
    'second tab takes over': promise(
      `The second tab continues the answer without being asked, and ${kept}.`,
    ),
    'isolate dies': {
      kind: 'impossible',
      reason: 'The agent runs in a worker of the browser, so no isolate at the edge has a run.',
    },
  };
}

const rows: Readonly<Record<RecoveryAction, Readonly<Record<RecoveryFailure, Outcome>>>> = {
  send: row('the message is there once'),
  'edit a message': row('the edited message replaces the old one'),
  regenerate: row('the new answer replaces the old one'),
  approve: row('the approval holds'),
  'edit an approval': row('the new arguments hold'),
  deny: row('the tool never runs'),
  inject: row('both messages are there once'),
  'page tool': row('an open call waits until the user lets an open page run it'),
  'call without input': row('the message gets its answer'),
};

/** The cells of the recovery matrix for conversations in IndexedDB. */
export const indexedDbCells: readonly IndexedDbCell[] = (
  Object.keys(rows) as readonly RecoveryAction[]
).flatMap((action) =>
  (Object.keys(rows[action]) as readonly RecoveryFailure[]).map((failure) => ({
    action,
    failure,
    store: 'IndexedDB' as const,
    outcome: rows[action][failure],
  })),
);
