import { expect, test } from 'vitest';
import { assistantMessage, toolMessage, userMessage, type Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../message/json.ts';
import type { LogRecord } from './log-record.ts';
import { isCutOff, messagesBefore, resumptionOf, type Resumption } from './resumption.ts';
import { SessionFold } from './session-fold.ts';

const message = (given: Msg): LogRecord => ({ kind: 'message', message: given });
const user = (id: string): LogRecord => message(userMessage(`Question ${id}`, { id }));
const said = (id: string, metadata: JsonObject = {}): LogRecord =>
  message(assistantMessage(`Answer ${id}`, { id, metadata }));
const asks = (id: string, metadata: JsonObject = {}): LogRecord =>
  message(
    assistantMessage(
      ['x', 'y'].map((call) => ({
        type: 'tool_use',
        id: `${id}-${call}`,
        name: 'step',
        input: {},
      })),
      { id, metadata },
    ),
  );
const result = (toolUseId: string): LogRecord =>
  message(
    toolMessage(
      { type: 'tool_result', toolUseId, name: 'step', output: 'done', state: 'success' },
      { id: `result ${toolUseId}` },
    ),
  );
const system = message({ ...userMessage('Be kind.', { id: 'system' }), role: 'system' });
const begin = (runId = 'r1'): LogRecord => ({ kind: 'run-begin', runId });
const end = (reason: string, runId = 'r1'): LogRecord => ({ kind: 'run-end', runId, reason });
const cut = (...ids: readonly string[]): LogRecord => ({ kind: 'truncate', ids });
const recovery = said('recovery', { reason: 'interrupted' });
const half = (partial: string): LogRecord => said('half', { partial });
const closed = [asks('a'), result('a-x'), result('a-y')];
const earlier = [begin('r0'), user('u0'), said('s0'), end('stop', 'r0')];

interface Row {
  readonly type: Resumption['type'];
  readonly removed?: readonly string[];
  readonly answer?: string;
  /** Whether a host may continue the run without a decision by the user. */
  readonly cutOff?: boolean;
}

const rows: readonly (readonly [name: string, log: readonly LogRecord[], row: Row])[] = [
  // Logs of runs that were interrupted.
  [
    'interrupted before the reply began',
    [begin(), user('u'), recovery, end('interrupted')],
    { type: 'interrupted', removed: ['recovery'] },
  ],
  [
    'interrupted in a reply',
    [begin(), user('u'), half('interrupted'), recovery, end('interrupted')],
    { type: 'interrupted', removed: ['half', 'recovery'] },
  ],
  [
    'interrupted while tools ran',
    [begin(), user('u'), ...closed, recovery, end('interrupted')],
    { type: 'interrupted', removed: ['recovery'] },
  ],
  [
    'interrupted with a message of the caller',
    [
      begin(),
      user('u'),
      message(userMessage('Stop.', { id: 'own', metadata: { reason: 'interrupted' } })),
      end('interrupted'),
    ],
    { type: 'interrupted', removed: ['own'] },
  ],
  [
    'interrupted, then the text of the interrupt was deleted',
    [begin(), user('u'), half('interrupted'), recovery, end('interrupted'), cut('recovery')],
    { type: 'interrupted', removed: ['half'] },
  ],
  [
    'interrupted, then the reply and the text of the interrupt were deleted',
    [
      begin(),
      user('u'),
      half('interrupted'),
      recovery,
      end('interrupted'),
      cut('recovery', 'half'),
    ],
    { type: 'unanswered' },
  ],
  [
    'interrupted, and a result was deleted later',
    [begin(), user('u'), ...closed, recovery, end('interrupted'), cut('result a-y')],
    { type: 'interrupted', removed: ['recovery'] },
  ],
  [
    'interrupted, then another question was observed',
    [begin(), user('u'), half('interrupted'), recovery, end('interrupted'), user('u2')],
    { type: 'unanswered' },
  ],
  [
    'interrupted, and the host died before the text of the interrupt was stored',
    [begin(), user('u'), half('interrupted')],
    { type: 'interrupted', removed: ['half'] },
  ],
  [
    'interrupted, and the host died before the end',
    [begin(), user('u'), half('interrupted'), recovery],
    { type: 'interrupted', removed: ['half', 'recovery'] },
  ],
  [
    'interrupted after an earlier answer',
    [...earlier, begin(), user('u'), recovery, end('interrupted')],
    { type: 'interrupted', removed: ['recovery'] },
  ],
  [
    'interrupted with a summary',
    [
      begin(),
      user('u'),
      { kind: 'summary', firstId: 'u', lastId: 'u', count: 1, text: 'short' },
      recovery,
      end('interrupted'),
    ],
    { type: 'interrupted', removed: ['recovery'] },
  ],
  [
    'interrupted, then answered by the next run',
    [
      begin(),
      user('u'),
      recovery,
      end('interrupted'),
      begin('r2'),
      user('u2'),
      said('s'),
      end('stop', 'r2'),
    ],
    { type: 'nothing' },
  ],
  // Logs with open tool calls.
  ...[
    'stop',
    'suspended',
    'max-iterations',
    'limit',
    'return-direct',
    'stopped-by-hook',
    'rejected',
    'aborted',
    'error',
  ].map(
    (reason) =>
      [
        `open calls, ended as ${reason}`,
        [begin(), user('u'), asks('a'), result('a-x'), end(reason)],
        { type: 'open-calls' },
      ] as const,
  ),
  [
    'open calls of a host that died',
    [begin(), user('u'), asks('a'), result('a-y')],
    { type: 'open-calls', cutOff: true },
  ],
  [
    'open calls in an incomplete reply',
    [begin(), user('u'), asks('a', { partial: 'suspended' }), end('suspended')],
    { type: 'open-calls' },
  ],
  [
    'open calls before an observed question',
    [begin(), user('u'), asks('a'), end('suspended'), user('u2')],
    { type: 'open-calls' },
  ],
  [
    'calls that are open again, because a result was deleted',
    [begin(), user('u'), ...closed, said('s'), end('stop'), cut('result a-x')],
    { type: 'open-calls' },
  ],
  // Logs that end with a partial reply.
  [
    'suspended in a reply',
    [begin(), user('u'), half('suspended'), end('suspended')],
    { type: 'partial', removed: ['half'] },
  ],
  [
    'suspended in a reply after tools',
    [begin(), user('u'), ...closed, half('suspended'), end('suspended')],
    { type: 'partial', removed: ['half'] },
  ],
  [
    'aborted in a reply',
    [begin(), user('u'), half('aborted'), end('aborted')],
    { type: 'partial', removed: ['half'] },
  ],
  [
    'aborted in a reply, and the host died',
    [begin(), user('u'), half('aborted')],
    { type: 'partial', removed: ['half'], cutOff: true },
  ],
  [
    'half a reply before an observed question',
    [begin(), user('u'), half('suspended'), end('suspended'), user('u2')],
    { type: 'unanswered' },
  ],
  [
    'half a reply before a system message',
    [begin(), user('u'), half('suspended'), end('suspended'), system],
    { type: 'partial', removed: ['half'] },
  ],
  [
    'a value that did not fit',
    [begin(), user('u'), said('bad', { reason: 'error' }), end('error')],
    { type: 'partial', removed: ['bad'] },
  ],
  [
    'an attempt at a value',
    [begin(), user('u'), said('bad', { correction: 'reply' })],
    { type: 'partial', removed: ['bad'], cutOff: true },
  ],
  [
    'two attempts at a value, then an abort',
    [
      begin(),
      user('u'),
      said('bad', { correction: 'reply' }),
      said('worse', { correction: 'reply' }),
      end('aborted'),
    ],
    { type: 'partial', removed: ['bad', 'worse'] },
  ],
  // Logs that end with a complete answer, whose run has not ended.
  [
    'answered, and the host died',
    [begin(), user('u'), said('s')],
    { type: 'answered', answer: 's', cutOff: true },
  ],
  [
    'answered after tools, and the host died',
    [...earlier, begin(), user('u'), ...closed, said('s')],
    { type: 'answered', answer: 's', cutOff: true },
  ],
  [
    'answered by a run that continued another',
    [begin(), user('u'), end('error'), begin('r2'), said('s')],
    { type: 'answered', answer: 's', cutOff: true },
  ],
  [
    'answered with a direct result, and the host died',
    [begin(), user('u'), ...closed, said('s', { reason: 'return-direct' })],
    { type: 'answered', answer: 's', cutOff: true },
  ],
  [
    'answered, but the store failed at first',
    [begin(), user('u'), said('s'), end('error')],
    { type: 'answered', answer: 's' },
  ],
  // Logs that end with a user message or tool results.
  ['asked, and the host died', [begin(), user('u')], { type: 'unanswered', cutOff: true }],
  [
    'results, and the host died',
    [begin(), user('u'), ...closed],
    { type: 'unanswered', cutOff: true },
  ],
  [
    'a correction, and the host died',
    [
      begin(),
      user('u'),
      said('bad', { correction: 'reply' }),
      message(userMessage('Again.', { id: 'c', metadata: { correction: 'message' } })),
    ],
    { type: 'unanswered', cutOff: true },
  ],
  ...['error', 'aborted', 'suspended', 'rejected', 'stopped-by-hook', 'limit'].flatMap((reason) => [
    [
      `asked, ended as ${reason}`,
      [begin(), user('u'), end(reason)],
      { type: 'unanswered' },
    ] as const,
    [
      `results, ended as ${reason}`,
      [begin(), user('u'), ...closed, end(reason)],
      { type: 'unanswered' },
    ] as const,
  ]),
  ['observed without a run', [user('u')], { type: 'unanswered' }],
  ['observed after an answer', [...earlier, user('u')], { type: 'unanswered' }],
  ['the answer was deleted', [...earlier, cut('s0')], { type: 'unanswered' }],
  [
    'asked, and the host died after a system message',
    [begin(), user('u'), system],
    { type: 'unanswered', cutOff: true },
  ],
  // All other logs. Nothing can be continued.
  ['empty', [], { type: 'nothing' }],
  ['only a system message', [system], { type: 'nothing' }],
  ['only half a reply', [half('suspended')], { type: 'nothing' }],
  ...['stop', 'return-direct', 'max-iterations', 'limit', 'stopped-by-hook'].map(
    (reason) =>
      [
        `answered, ended as ${reason}`,
        [begin(), user('u'), said('s'), end(reason)],
        { type: 'nothing' },
      ] as const,
  ),
  ['answered, then a system message', [...earlier, system], { type: 'nothing' }],
  ['answered outside of a run', [user('u'), said('s')], { type: 'nothing' }],
  [
    'failed, then answered from outside',
    [begin(), user('u'), end('error'), said('s')],
    { type: 'nothing' },
  ],
  [
    'failed, then the question was deleted',
    [...earlier, begin(), user('u'), end('error'), cut('u')],
    { type: 'nothing' },
  ],
  [
    'cut off, then the question was deleted',
    [...earlier, begin(), user('u'), cut('u')],
    { type: 'nothing' },
  ],
  ['cut off, then all was deleted', [begin(), user('u'), cut('u')], { type: 'nothing' }],
];

test.each(rows)(
  'resumptionOf() says how a call without input continues a log: %s',
  (_name, records, row) => {
    const { type, removed: gone = [], answer, cutOff = false } = row;
    const compacted = new SessionFold().add(new SessionFold().add(records).records()!);
    for (const view of [new SessionFold().add(records), compacted]) {
      const found = resumptionOf(view);
      expect(found.type).toBe(type);
      expect(found.removed.map(({ id }) => id)).toEqual(gone);
      expect(found.answer?.id).toBe(answer);
      expect(isCutOff(view)).toBe(cutOff);
      const shown = messagesBefore(view).map(({ id }) => id);
      const left = view.messages.map(({ id }) => id);
      expect(shown).toEqual(left.filter((id) => ![...gone, answer].includes(id)));
      // A call without input must always be able to continue a session with an open run.
      if (view.openRunId !== undefined) expect(type).not.toBe('nothing');
    }
  },
);

test('`stoppedRunId` is the id of the last run if the run was interrupted or aborted', () => {
  for (const reason of ['interrupted', 'aborted', 'stop']) {
    const log = new SessionFold().add([begin(), user('u'), end(reason)]);
    const expected = reason === 'stop' ? undefined : 'r1';
    expect(log.stoppedRunId).toBe(expected);
    expect(new SessionFold().add(log.records()!).stoppedRunId).toBe(expected);
    expect(log.add([begin('r2')]).stoppedRunId).toBeUndefined();
  }
});
