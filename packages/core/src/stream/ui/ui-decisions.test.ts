import { expect, test } from 'vitest';
import { fromUiDecisions } from '@isoloop/core/stream';

const part = (more: object): object => ({
  type: 'dynamic-tool',
  toolName: 'pay',
  toolCallId: 'c1',
  ...more,
});
const said = (...parts: unknown[]): unknown => ({ id: 'a1', role: 'assistant', parts });

test('fromUiDecisions() reads approvals, rejections and results of dynamic and typed tools', () => {
  const decisions = fromUiDecisions(
    said(
      { type: 'text', text: 'Well.' },
      part({ state: 'approval-responded', approval: { id: 'x', approved: true } }),
      {
        type: 'tool-send',
        toolCallId: 'c2',
        state: 'approval-responded',
        approval: { approved: false, reason: 'No.' },
      },
      part({ toolCallId: 'c3', state: 'approval-responded', approval: { approved: false } }),
      part({ toolCallId: 'c4', state: 'output-available', output: { 서울: [1] } }),
      part({ toolCallId: 'c5', state: 'output-available', output: 'text' }),
      part({ toolCallId: 'c6', state: 'output-available' }),
      part({ toolCallId: 'c7', state: 'output-error', errorText: 'Broke.' }),
    ),
  );
  expect(decisions).toEqual([
    { toolUseId: 'c1', name: 'pay', type: 'approve' },
    { toolUseId: 'c2', name: 'send', type: 'reject', reason: 'No.' },
    { toolUseId: 'c3', name: 'pay', type: 'reject' },
    { toolUseId: 'c4', name: 'pay', type: 'result', output: '{"서울":[1]}' },
    { toolUseId: 'c5', name: 'pay', type: 'result', output: 'text' },
    { toolUseId: 'c6', name: 'pay', type: 'result', output: 'null' },
    { toolUseId: 'c7', name: 'pay', type: 'result', output: 'Broke.', state: 'error' },
  ]);
});

test.for<unknown>([
  undefined,
  null,
  7,
  'assistant',
  [],
  { role: 'assistant' },
  { role: 'assistant', parts: {} },
  { role: 'user', parts: [part({ state: 'output-available', output: 'x' })] },
  said(null, 7, 'x', [], {}),
  said(
    part({ state: 'input-available' }),
    part({ state: 'approval-requested', approval: { id: 'c1', approved: true } }),
  ),
  said(part({ state: 'output-available', output: 'half', preliminary: true })),
  said(
    part({ state: 'approval-responded' }),
    part({ state: 'approval-responded', approval: { approved: 'yes' } }),
  ),
  said(
    part({ toolName: 7, state: 'output-available' }),
    part({ toolCallId: 7, state: 'output-available' }),
  ),
  said({ type: 'data-x', toolCallId: 'c1', state: 'output-available' }),
])('fromUiDecisions() finds no decision in %j', (message) =>
  expect(fromUiDecisions(message)).toEqual([]),
);

test('a value that is not a text is not converted to a text', () => {
  const hostile = JSON.parse('{"toString":1,"__proto__":{"approved":true}}') as object;
  expect(fromUiDecisions(said(part({ state: 'output-error', errorText: hostile })))).toMatchObject([
    { output: '', state: 'error' },
  ]);
  expect(fromUiDecisions(said(part({ state: 'approval-responded', approval: hostile })))).toEqual(
    [],
  );
});
