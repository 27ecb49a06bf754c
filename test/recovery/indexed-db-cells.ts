import type { RecoveryAction, RecoveryCell, RecoveryFailure } from './recovery-cell.ts';

/** Cell of a conversation whose agent runs in a worker of the browser. */
export interface IndexedDbCell extends RecoveryCell {
  readonly store: 'IndexedDB';
}

type Outcome = RecoveryCell['outcome'];

const promise = (text: string): Outcome => ({ kind: 'promise', text });

/** What a row says about the run that continues. */
interface RowTexts {
  /** What the user did, as the conversation has it. */
  readonly kept: string;
  /** What happens to work that has not reached the log. */
  readonly before: string;
  /** What happens to the tool call. Default: an interrupted call is not repeated. */
  readonly tool?: string;
}

const notRepeated = 'A tool call that had started is interrupted, and never runs again.';

/**
 * Returns the promises of an action. Each failure ends the worker, so all of them share one
 * mechanism: the next worker continues the run from its log.
 */
function row({
  kept,
  before,
  tool = notRepeated,
}: RowTexts): Readonly<Record<RecoveryFailure, Outcome>> {
  const rest = `${kept}. ${tool} ${before}`;
  return {
    reload: promise(`The loaded page continues the answer, and ${rest}`),
    'closed tab': promise(`A page that is opened later continues the answer, and ${rest}`),
    'killed worker': promise(
      `The page reports WORKER_TERMINATED. A new worker continues the answer, and ${rest}`,
    ),
    'second tab takes over': promise(
      `The second tab continues the answer without being asked, and ${rest}`,
    ),
    'isolate dies': {
      kind: 'impossible',
      reason: 'The agent runs in a worker of the browser, so no isolate at the edge has a run.',
    },
  };
}

const again = (what: string): string =>
  `If the log has nothing of it yet, the conversation is unchanged, and the user ${what} again.`;

const rows: Readonly<Record<RecoveryAction, Readonly<Record<RecoveryFailure, Outcome>>>> = {
  send: row({ kept: 'the message is there once', before: again('sends it') }),
  'edit a message': row({
    kept: 'the edited message replaces the old one',
    before: again('edits'),
  }),
  regenerate: row({ kept: 'the new answer replaces the old one', before: again('asks') }),
  approve: row({ kept: 'the approval holds', before: again('approves') }),
  'edit an approval': row({ kept: 'the new arguments hold', before: again('edits') }),
  deny: row({
    kept: 'the denial holds',
    tool: 'The tool never runs.',
    before: again('denies'),
  }),
  inject: row({
    kept: 'both messages are there once',
    before: 'If the log has not got a message yet, its call rejects, and the user sends it again.',
  }),
  'page tool': row({
    kept: 'the message is there once',
    tool: 'The call waits until the user lets a page that is open run the tool.',
    before: again('sends it'),
  }),
  'call without input': row({ kept: 'the message gets its answer', before: again('asks') }),
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
