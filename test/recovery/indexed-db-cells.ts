import { cellsOf, type RecoveryCell, type StoreRecovery } from './recovery-cell.ts';

/** Cell of a conversation whose agent runs in a worker of the browser. */
export type IndexedDbCell = RecoveryCell<'IndexedDB'>;

/**
 * The promises of IndexedDB. Each failure ends the worker, so all of them share one mechanism: the
 * next worker continues the run from its log.
 */
export const inIndexedDb: StoreRecovery<'IndexedDB'> = {
  store: 'IndexedDB',
  failures: {
    reload: 'The loaded page continues the answer.',
    'closed tab': 'A page that is opened later continues the answer.',
    'killed worker': 'The page gets `WORKER_TERMINATED`, and a new worker continues the answer.',
    'second tab takes over': 'The second tab continues the answer without being asked.',
    'isolate dies': {
      impossible: 'The agent runs in a worker of the browser, so no isolate at the edge has a run.',
    },
  },
  actions: {
    send: { kept: 'The message is there once.' },
    'edit a message': { kept: 'The edited message replaces the old one.' },
    regenerate: { kept: 'The new answer replaces the old one.' },
    approve: { kept: 'The approval holds.' },
    'edit an approval': { kept: 'The new arguments hold.' },
    deny: { kept: 'The tool never runs.' },
    inject: { kept: 'Both messages are there once.' },
    'page tool': { kept: 'An open call waits until the user lets an open page run it.' },
    'call without input': { kept: 'The message gets its answer.' },
  },
};

/** The cells of the recovery matrix for conversations in IndexedDB. */
export const indexedDbCells: readonly IndexedDbCell[] = cellsOf(inIndexedDb);
