import type { RecoveryAction, RecoveryCell, RecoveryFailure } from './recovery-cell.ts';

export type EdgeStore = 'KV' | 'Durable Object';

/** Cell of an endpoint's store. */
export interface EdgeCell extends RecoveryCell {
  readonly store: EdgeStore;
}

type Outcome = RecoveryCell['outcome'];
type Row = Readonly<Record<RecoveryFailure, Outcome>>;

const promise = (text: string): Outcome => ({ kind: 'promise', text });
const impossible = (reason: string): Outcome => ({ kind: 'impossible', reason });

const noWorker = impossible('The agent runs at the edge, so no worker of the page has a run.');

/**
 * Returns the promises of a Durable Object. The turn is on disk before the run starts, and the run
 * needs no reader. `shown`: what the user did, as the conversation shows it.
 */
function inObject(shown: string, afterDeath: string): Row {
  return {
    reload: promise(`The run continues. The page shows ${shown} and the whole answer.`),
    'closed tab': promise(
      `The run continues without a reader. A page that is opened later shows ${shown} and the whole answer.`,
    ),
    'killed worker': noWorker,
    'second tab takes over': promise(
      `The run continues. The second tab shows ${shown} and the whole answer, and sends the next message.`,
    ),
    'isolate dies': promise(afterDeath),
  };
}

/** Returns the promises of KV, which stores a turn at its end. `shown` as for `inObject`. */
function inKv(shown: string, afterDeath: string): Row {
  const later = `The run continues for up to 25 seconds. When it has ended,`;
  return {
    reload: promise(`${later} the page shows ${shown} and the answer.`),
    'closed tab': promise(`${later} a page that is opened shows ${shown} and the answer.`),
    'killed worker': noWorker,
    'second tab takes over': promise(
      `${later} the second tab shows ${shown} and the answer, and sends the next message.`,
    ),
    'isolate dies': promise(afterDeath),
  };
}

/** Returns the row of an action that this store does not have. */
function never(reason: string): Row {
  const cannot = impossible(reason);
  return {
    reload: cannot,
    'closed tab': cannot,
    'killed worker': noWorker,
    'second tab takes over': cannot,
    'isolate dies': cannot,
  };
}

const notStarted = 'A tool call that had started is interrupted, and never runs again.';
const continues = (kept: string): string =>
  `Another isolate continues the run, and ${kept}. ${notStarted}`;
const resend = (kept: string, request: string): string =>
  `The turn is lost as a whole, and ${kept}. The client ${request}, and then the turn's tools may run again.`;

const inObjects: Readonly<Record<RecoveryAction, Row>> = {
  send: inObject('the message once', continues('the message is there once')),
  'edit a message': inObject(
    'the edited message once',
    continues('the edited message replaces the old one'),
  ),
  regenerate: inObject('the question once', continues('the new answer replaces the old one')),
  approve: inObject('the approval', continues('the approval holds')),
  'edit an approval': inObject('the new arguments', continues('the new arguments hold')),
  deny: inObject('the denial', continues('the tool never runs')),
  inject: inObject(
    'both messages',
    continues('the message that waited gets its own answer after it'),
  ),
  'page tool': inObject(
    'the open call until a page sends its result,',
    continues('the call stays open until a page sends its result'),
  ),
  'call without input': inObject('the message once', continues('the message gets its answer')),
};

const inKvs: Readonly<Record<RecoveryAction, Row>> = {
  send: inKv(
    'the message once',
    resend('the conversation is as it was before', 'sends the message again'),
  ),
  'edit a message': inKv(
    'the edited message once',
    resend('the old message and its answer are still there', 'sends the edit again'),
  ),
  regenerate: inKv(
    'the question once',
    resend('the old answer is still there', 'asks for another answer again'),
  ),
  approve: inKv('the approval', resend('the call waits again', 'sends the approval again')),
  'edit an approval': inKv(
    'the new arguments',
    resend('the call waits again', 'sends the new arguments again'),
  ),
  deny: inKv('the denial', resend('the call waits again', 'sends the denial again')),
  inject: never(
    'No connection can reach a run in KV, so a message cannot join it. A Durable Object is needed.',
  ),
  'page tool': inKv(
    'the open call until a page sends its result,',
    resend('the conversation is as it was before', 'sends its last request again'),
  ),
  'call without input': inKv(
    'the message once',
    resend('the message still has no answer', 'asks again'),
  ),
};

/** The cells of the recovery matrix for conversations at an endpoint. */
export const edgeCells: readonly EdgeCell[] = [
  ...cellsOf('KV', inKvs),
  ...cellsOf('Durable Object', inObjects),
];

function cellsOf(
  store: EdgeStore,
  rows: Readonly<Record<RecoveryAction, Row>>,
): readonly EdgeCell[] {
  const actions = Object.keys(rows) as readonly RecoveryAction[];
  return actions.flatMap((action) => {
    const failures = Object.keys(rows[action]) as readonly RecoveryFailure[];
    return failures.map((failure) => ({ action, failure, store, outcome: rows[action][failure] }));
  });
}
