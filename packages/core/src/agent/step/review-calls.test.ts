import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { assistantMessage, toolResultsOf, type ToolUse } from '../../message/msg.ts';
import { tool } from '../../tool/tool.ts';
import { toolResult } from '../../tool/tool-call.ts';
import { liveRun, openWith, type LiveRunOptions } from '@test/support/live-run.ts';
import { reviewCalls } from './review-calls.ts';

const callOf = (id: string, name = 'pay', input: object = { sum: 1 }): ToolUse =>
  ({ type: 'tool_use', id, name, input }) as ToolUse;
const schema = z.object({ sum: z.number() });
const pay = tool({ name: 'pay', description: 'Pays.', input: schema, execute: () => 'paid' });
const [one, two] = [callOf('one'), callOf('two')];

async function runWith(options: LiveRunOptions = {}, calls: readonly ToolUse[] = [one, two]) {
  const tested = liveRun({ tools: [pay], ...options });
  await openWith(tested.live, assistantMessage(calls));
  const results = () => tested.live.log.messages.flatMap(toolResultsOf);
  return { ...tested, results };
}

test('the calls pass the hooks in their order, each once, and then wait for nobody', async () => {
  const { live, events } = await runWith();
  const { open } = live.calls;
  const passed = await reviewCalls(live, [...open, ...open]);
  expect(passed.map(({ prepared }) => prepared.toolUse.id)).toEqual(['one', 'two']);
  expect(events).toMatchObject([
    { type: 'pre-acting', toolUse: { id: 'one' } },
    { type: 'pre-acting', toolUse: { id: 'two' } },
  ]);
  expect(live.calls.open.map(({ state }) => state.started)).toEqual([false, false]);
});

test('hooks see the problem of a call, and the call that a hook repairs is checked again', async () => {
  const problems: unknown[] = [];
  const wrong = callOf('one', 'pay', { sum: 'many' });
  const { live } = await runWith(
    {
      use: [
        {
          on: {
            'pre-acting': (event) => {
              problems.push(event.problem);
              return { ...event, toolUse: { ...event.toolUse, id: 'x', input: { sum: 2 } } };
            },
          },
        },
        { on: { 'pre-acting': (event) => void problems.push(event.problem) } },
      ],
    },
    [wrong],
  );
  const [passed] = await reviewCalls(live, live.calls.open);
  expect(passed!.prepared).toMatchObject({ ok: true, toolUse: { id: 'one', input: { sum: 2 } } });
  expect(problems).toEqual([expect.stringContaining('sum'), undefined]);
});

test('a hook rejects one call, which gets a denied result, and the first reason counts', async () => {
  const { live, results } = await runWith({
    use: [
      {
        on: {
          'pre-acting': (event) => {
            if (event.toolUse.id !== 'one') return;
            event.reject('Too dear.');
            event.reject('Too late.');
          },
        },
      },
    ],
  });
  const passed = await reviewCalls(live, live.calls.open);
  expect(passed.map(({ prepared }) => prepared.toolUse.id)).toEqual(['two']);
  expect(results()).toMatchObject([
    { toolUseId: 'one', state: 'denied', output: 'Tool call rejected: Too dear.' },
  ]);
});

test('after a stop, this call and the remaining calls stay open', async () => {
  const seen = vi.fn((event: { stop(): void }) => event.stop());
  const { live, results } = await runWith({ use: [{ on: { 'pre-acting': seen } }] });
  expect(await reviewCalls(live, live.calls.open)).toEqual([]);
  expect(seen).toHaveBeenCalledOnce();
  expect(results()).toEqual([]);
});

test('if a pre-acting hook fails, the run fails, and the call has not run', async () => {
  const fail = (): never => {
    throw new Error('broken');
  };
  const { live, results } = await runWith({ use: [{ on: { 'pre-acting': fail } }] }, [one]);
  expect(await reviewCalls(live, live.calls.open)).toEqual([]);
  expect(live.halt.failure?.message).toContain('broken');
  expect(results()).toMatchObject([{ output: 'Error: A hook failed before this call began.' }]);
});

test('a call with a result gets it, and a pending call stays open until the decision', async () => {
  const { live, results } = await runWith();
  live.calls.suspend(two, { suspended: true, kind: 'approval' });
  const [first, second] = live.calls.open;
  const given = toolResult(one, 'known', 'success');
  expect(await reviewCalls(live, [{ ...first!, result: given }, second!])).toEqual([]);
  expect(results()).toMatchObject([{ toolUseId: 'one', output: 'known' }]);
  const decision = { toolUseId: 'two', type: 'approve' } as const;
  live.states.applyNotes([{ kind: 'decision', decision }]);
  expect(await reviewCalls(live, live.calls.open)).toHaveLength(1);
});

test('a call that a person rejected does not run, also without middleware for decisions', async () => {
  const { live, results } = await runWith({}, [one]);
  live.calls.suspend(one, { suspended: true, kind: 'approval' });
  const decision = { toolUseId: 'one', type: 'reject', reason: 'Too dear.' } as const;
  live.states.applyNotes([{ kind: 'decision', decision }]);
  expect(await reviewCalls(live, live.calls.open)).toEqual([]);
  expect(results()).toMatchObject([{ toolUseId: 'one', state: 'denied' }]);
});

test.each([
  ['is interrupted', 'never', { state: 'interrupted' }],
  ['asks a person with `replay: ask`', 'ask', undefined],
] as const)('a call whose tool has started %s', async (_what, replay, result) => {
  const use = [{ name: 'approvals', on: {} }];
  const { live, results } = await runWith({ use, tools: [{ ...pay, replay }] }, [one]);
  live.states.applyNotes([{ kind: 'call-started', toolUseId: 'one', toolUse: one }]);
  expect(await reviewCalls(live, live.calls.open)).toEqual([]);
  if (result) expect(results()).toMatchObject([result]);
  else expect(live.calls.pending).toMatchObject([{ toolUseId: 'one', kind: 'replay' }]);
});

test('a call whose tool has started runs again with `replay: safe`, without the hooks', async () => {
  const { live, types } = await runWith({ tools: [{ ...pay, replay: 'safe' }] }, [one]);
  live.states.applyNotes([{ kind: 'call-started', toolUseId: 'one', toolUse: one }]);
  expect(await reviewCalls(live, live.calls.open)).toHaveLength(1);
  expect(types()).toEqual([]);
});

test('no call is reviewed after an interrupt', async () => {
  const { live, types } = await runWith();
  live.halt.stopWith({ kind: 'interrupted' });
  expect(await reviewCalls(live, live.calls.open)).toEqual([]);
  expect(types()).toEqual([]);
});
