import { cellsOf, type RecoveryCell, type StoreRecovery } from './recovery-cell.ts';

export type EdgeStore = 'KV' | 'Durable Object';

/** Cell of an endpoint's store. */
export type EdgeCell = RecoveryCell<EdgeStore>;

const noWorker = {
  impossible: 'The agent runs at the edge, so no worker of the page has a run.',
};

/**
 * The promises of a Durable Object. The turn is on disk before the run starts, and the run needs no
 * reader.
 */
export const inObject: StoreRecovery<'Durable Object'> = {
  store: 'Durable Object',
  failures: {
    reload: 'The run continues, and the page shows the whole answer.',
    'closed tab':
      'The run continues without a reader. A page that is opened later shows the whole answer.',
    'killed worker': noWorker,
    'second tab takes over':
      'The run continues. The second tab shows the whole answer, and sends the next message.',
    'isolate dies':
      'Another isolate continues the run. A tool call that had started is interrupted, and never runs again.',
  },
  actions: {
    send: { kept: 'The message is there once.' },
    'edit a message': { kept: 'The edited message replaces the old one.' },
    regenerate: { kept: 'The question is there once, and the new answer replaces the old one.' },
    approve: { kept: 'The approval holds.' },
    'edit an approval': { kept: 'The new arguments hold.' },
    deny: { kept: 'The tool never runs.' },
    inject: {
      kept: 'Both messages are there. If the isolate died, the one that waited gets its own answer after it.',
    },
    'page tool': { kept: 'The call stays open until a page sends its result.' },
    'call without input': { kept: 'The message is there once, and gets its answer.' },
  },
};

const later = 'The run continues for up to 25 seconds. When it has ended,';

/** The promises of KV, which stores a turn at its end. */
export const inKv: StoreRecovery<'KV'> = {
  store: 'KV',
  failures: {
    reload: `${later} the page shows the answer.`,
    'closed tab': `${later} a page that is opened shows the answer.`,
    'killed worker': noWorker,
    'second tab takes over': `${later} the second tab shows the answer, and sends the next message.`,
    'isolate dies':
      "The turn is lost as a whole. If the client asks again, the turn's tools may run again.",
  },
  actions: {
    send: {
      kept: 'The message is there once.',
      afterDeath: 'The conversation is as it was before. The client sends the message again.',
    },
    'edit a message': {
      kept: 'The edited message is there once.',
      afterDeath:
        'The old message and its answer are still there. The client sends the edit again.',
    },
    regenerate: {
      kept: 'The question is there once.',
      afterDeath: 'The old answer is still there. The client asks for another answer again.',
    },
    approve: {
      kept: 'The approval holds.',
      afterDeath: 'The call waits again. The client sends the approval again.',
    },
    'edit an approval': {
      kept: 'The new arguments hold.',
      afterDeath: 'The call waits again. The client sends the new arguments again.',
    },
    deny: {
      kept: 'The denial holds.',
      afterDeath: 'The call waits again. The client sends the denial again.',
    },
    inject: {
      impossible:
        'No connection can reach a run in KV, so a message cannot join it. A Durable Object is needed.',
    },
    'page tool': {
      kept: 'The call stays open until a page sends its result.',
      afterDeath: 'The conversation is as it was before. The client sends its last request again.',
    },
    'call without input': {
      kept: 'The message is there once.',
      afterDeath: 'The message still has no answer. The client asks again.',
    },
  },
};

/** The cells of the recovery matrix for conversations at an endpoint. */
export const edgeCells: readonly EdgeCell[] = [...cellsOf(inKv), ...cellsOf(inObject)];
