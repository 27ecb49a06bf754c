import { expect, test } from 'vitest';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { assistantMessage, toolMessage, type ToolUse } from '../../message/msg.ts';
import { errorResult } from '../../tool/tool-call.ts';
import { tool } from '../../tool/tool.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';

const callOf = (id: string): ToolUse => ({ type: 'tool_use', id, name: 'pay', input: { id } });
const [one, two] = [callOf('one'), callOf('two')];

test('the messages say which calls are open, in the order of the calls', async () => {
  const { live } = liveRun();
  await openWith(live, assistantMessage([one, two]));
  expect(live.calls.open.map(({ toolUse }) => toolUse.id)).toEqual(['one', 'two']);
  await live.log.append([toolMessage(errorResult(one, 'no'))]);
  expect(live.calls.open.map(({ toolUse }) => toolUse.id)).toEqual(['two']);
  expect(live.calls.isOpen(one)).toBe(false);
  expect(live.calls.stateOf(one)).toBeUndefined();
});

test.each([
  ['counts as started', 'interrupt', true],
  ['may run', 'run', false],
] as const)(
  'a call without a note %s if the memory says `%s`',
  async (_what, unnotedCalls, started) => {
    const memory = new InMemoryMemory([assistantMessage([one])], { unnotedCalls });
    const { live } = liveRun({ memory });
    await live.log.open();
    expect(live.calls.open).toEqual([{ toolUse: one, state: { started }, isNoted: false }]);
    expect(live.calls.isOpen(one)).toBe(true);
  },
);

test('suspend() keeps what a call waits for, and markReady() ends the wait', async () => {
  const { live } = liveRun();
  await openWith(live, assistantMessage([one]));
  live.calls.suspend(one, { suspended: true, reason: 'Who?', details: { x: 1 } });
  const pending = { toolUseId: 'one', name: 'pay', input: { id: 'one' }, kind: 'suspended' };
  expect(live.calls.pending).toEqual([{ ...pending, reason: 'Who?', details: { x: 1 } }]);
  const changed = { ...one, input: { id: 'changed' } };
  live.calls.markReady(live.calls.open[0]!, changed);
  expect(live.calls.pending).toEqual([]);
  expect(live.calls.open[0]).toMatchObject({ toolUse: changed, state: { started: false } });
});

test.each([
  ['an approval changes nothing', { type: 'approve' }, { toolUse: one }],
  [
    'an edit replaces the arguments',
    { type: 'edit', input: { id: 'edited' } },
    { toolUse: { ...one, input: { id: 'edited' } } },
  ],
  [
    'a rejection is the result',
    { type: 'reject', reason: 'Too dear.' },
    { toolUse: one, result: { state: 'denied', output: 'Tool call rejected: Too dear.' } },
  ],
  [
    'a person’s result is the result',
    { type: 'result', output: 'paid' },
    { toolUse: one, result: { state: 'success', output: 'paid' } },
  ],
] as const)('open calls have what people decided: %s', async (_what, decided, expected) => {
  const { live } = liveRun();
  await openWith(live, assistantMessage([{ ...one, raw: '{}' }]));
  live.calls.suspend(one, { suspended: true, kind: 'approval' });
  live.states.applyNotes([{ kind: 'decision', decision: { toolUseId: 'one', ...decided } }]);
  expect(live.calls.open).toHaveLength(1);
  expect(live.calls.open[0]).toMatchObject(expected);
  expect('result' in live.calls.open[0]!).toBe('result' in expected);
});

test('the decision about a call of a tool that takes decisions changes nothing', async () => {
  const asks = tool({ name: 'pay', description: '', input: {}, execute: () => 'paid' });
  const { live } = liveRun({ tools: [{ ...asks, takesDecisions: true }] });
  await openWith(live, assistantMessage([one]));
  live.calls.suspend(one, { suspended: true });
  for (const decided of [{ type: 'reject' }, { type: 'edit', input: {} }] as const) {
    live.states.applyNotes([{ kind: 'decision', decision: { toolUseId: 'one', ...decided } }]);
    expect(live.calls.open).toMatchObject([{ toolUse: one }]);
    expect(live.calls.open[0]).not.toHaveProperty('result');
  }
});
