import { expect, test } from 'vitest';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import {
  assistantMessage,
  toolResultsOf,
  userMessage,
  type ToolResult,
  type ToolUse,
} from '../../message/msg.ts';
import { notStarted, toolResult } from '../../tool/tool-call.ts';
import { liveRun, openWith, type LiveRunOptions } from '@test/support/live-run.ts';
import { closeCall, goToTools, interruptOpenCalls, recordOutcome } from './close-calls.ts';

const callOf = (id: string): ToolUse => ({ type: 'tool_use', id, name: 'pay', input: {} });
const [one, two] = [callOf('one'), callOf('two')];
const paid = toolResult(one, 'paid', 'success');

async function runWith(options: LiveRunOptions = {}) {
  const tested = liveRun(options);
  await openWith(tested.live, assistantMessage([one, two]));
  const results = () => tested.live.log.messages.flatMap(toolResultsOf);
  return { ...tested, results };
}

test('closeCall() stores the result that the hooks left, then tells the readers, once', async () => {
  const { live, results, types } = await runWith({
    use: [{ on: { 'post-acting': (event) => ({ ...event, result: changed(event.result) }) } }],
  });
  await closeCall(live, one, paid);
  await closeCall(live, one, toolResult(one, 'again', 'success'));
  expect(results()).toMatchObject([{ toolUseId: 'one', output: 'changed' }]);
  expect(types()).toEqual(['post-acting']);
  expect(live.calls.isOpen(one)).toBe(false);
});

function changed(result: ToolResult): ToolResult {
  return { ...result, output: 'changed', toolUseId: 'x' };
}

test('if a post-acting hook fails, the run fails, and the log gets no word of the tool', async () => {
  const fail = (): never => {
    throw new Error('broken');
  };
  const { live, results } = await runWith({ use: [{ on: { 'post-acting': fail } }] });
  await closeCall(live, one, toolResult(one, 'my secret', 'success'));
  expect(live.halt.failure?.message).toContain('broken');
  expect(results()).toMatchObject([
    { state: 'error', output: 'Error: A hook failed after this call ended.' },
  ]);
});

test('what a hook asks for at a result waits for the end of the round, but not at an interrupted call', async () => {
  const { live } = await runWith({ use: [{ on: { 'post-acting': (event) => event.stop() } }] });
  await closeCall(live, one, toolResult(one, '', 'interrupted'));
  expect(live.calls.roundJump.jump).toBeUndefined();
  await closeCall(live, two, toolResult(two, 'paid', 'success'));
  expect(live.calls.roundJump.jump).toMatchObject({ at: 'post-acting', to: 'stop' });
});

test('after a failed write, the conversation has what the memory kept', async () => {
  const memory = new InMemoryMemory();
  const { live, results } = await runWith({ memory });
  const append = memory.append.bind(memory);
  memory.append = async (messages) => {
    await append(messages);
    throw new Error('full');
  };
  await expect(closeCall(live, one, paid)).rejects.toThrow('full');
  expect(results()).toMatchObject([{ toolUseId: 'one' }]);
});

test('recordOutcome() ends a call, suspends it, or leaves it open', async () => {
  const { live } = await runWith();
  await recordOutcome(live, one, { suspended: true });
  await recordOutcome(live, two, notStarted);
  expect(live.calls.open.map(({ state }) => state.pending?.kind)).toEqual(['suspended', undefined]);
  await recordOutcome(live, one, paid);
  expect(live.calls.open.map(({ toolUse }) => toolUse.id)).toEqual(['two']);
});

test('goToTools() gives each call beyond `replyCalls` an error result', async () => {
  const { live, results } = await runWith({ limits: { replyCalls: 1 } });
  expect(await goToTools(live, live.log.lastReply)).toEqual({ to: 'tools' });
  expect(results()).toMatchObject([{ toolUseId: 'two', state: 'error' }]);
});

test('interruptOpenCalls() closes each call, with the result that a person decided, and sorts the conversation', async () => {
  const { live, results } = await runWith();
  await live.log.append([userMessage('And?')]);
  const decision = { toolUseId: 'two', type: 'reject', reason: 'Too dear.' } as const;
  live.states.applyNotes([{ kind: 'decision', decision }]);
  await interruptOpenCalls(live);
  expect(results()).toMatchObject([
    { toolUseId: 'one', state: 'interrupted' },
    { toolUseId: 'two', state: 'denied' },
  ]);
  const roles = live.log.messages.map(({ role }) => role);
  expect(roles).toEqual(['assistant', 'tool', 'tool', 'user']);
});

test('interruptOpenCalls() tells about a call as the hooks left it', async () => {
  const { live, events } = await runWith();
  const changedCall = { ...one, input: { sum: 2 } };
  live.calls.markReady(live.calls.open[0]!, changedCall);
  await interruptOpenCalls(live);
  expect(events).toMatchObject([{ toolUse: changedCall }, { toolUse: two }]);
});

test('interruptOpenCalls() of a run that the log does not know changes nothing', async () => {
  const { live, status, results } = await runWith();
  status.openRunId = 'earlier';
  await interruptOpenCalls(live);
  expect(results()).toEqual([]);
});

test.each([
  ['leaves pending calls open after a failure', new Error('broken'), ['two']],
  [
    'closes them, too, after a timeout',
    { name: 'AgentError', code: 'CALL_TIMEOUT' },
    ['one', 'two'],
  ],
])('interruptOpenCalls() %s, and rejects with it', async (_what, failure, closed) => {
  const { live, results } = await runWith();
  live.calls.suspend(one, { suspended: true });
  live.halt.fail(failure);
  await expect(interruptOpenCalls(live)).rejects.toBe(live.halt.failure);
  expect(results().map(({ toolUseId }) => toolUseId)).toEqual(closed);
});
