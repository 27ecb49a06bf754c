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
  await openWith(tested.run, assistantMessage([one, two]));
  const results = () => tested.run.log.messages.flatMap(toolResultsOf);
  return { ...tested, results };
}

test('closeCall() stores the result that the hooks left, then tells the readers, once', async () => {
  const { run, results, types } = await runWith({
    use: [{ on: { 'post-acting': (event) => ({ ...event, result: changed(event.result) }) } }],
  });
  await closeCall(run, one, paid);
  await closeCall(run, one, toolResult(one, 'again', 'success'));
  expect(results()).toMatchObject([{ toolUseId: 'one', output: 'changed' }]);
  expect(types()).toEqual(['post-acting']);
  expect(run.calls.isOpen(one)).toBe(false);
});

function changed(result: ToolResult): ToolResult {
  return { ...result, output: 'changed', toolUseId: 'x' };
}

test('if a post-acting hook fails, the run fails, and the log gets no word of the tool', async () => {
  const fail = (): never => {
    throw new Error('broken');
  };
  const { run, results } = await runWith({ use: [{ on: { 'post-acting': fail } }] });
  await closeCall(run, one, toolResult(one, 'my secret', 'success'));
  expect(run.ending.failure?.message).toContain('broken');
  expect(results()).toMatchObject([
    { state: 'error', output: 'Error: A hook failed after this call ended.' },
  ]);
});

test('what a hook asks for at a result waits for the end of the round, but not at an interrupted call', async () => {
  const { run } = await runWith({ use: [{ on: { 'post-acting': (event) => event.stop() } }] });
  await closeCall(run, one, toolResult(one, '', 'interrupted'));
  expect(run.calls.roundJump.jump).toBeUndefined();
  await closeCall(run, two, toolResult(two, 'paid', 'success'));
  expect(run.calls.roundJump.jump).toMatchObject({ at: 'post-acting', to: 'stop' });
});

test('after a failed write, the conversation has what the memory kept', async () => {
  const memory = new InMemoryMemory();
  const { run, results } = await runWith({ memory });
  const append = memory.append.bind(memory);
  memory.append = async (messages) => {
    await append(messages);
    throw new Error('full');
  };
  await expect(closeCall(run, one, paid)).rejects.toThrow('full');
  expect(results()).toMatchObject([{ toolUseId: 'one' }]);
});

test('recordOutcome() ends a call, suspends it, or leaves it open', async () => {
  const { run } = await runWith();
  await recordOutcome(run, one, { suspended: true });
  await recordOutcome(run, two, notStarted);
  expect(run.calls.open.map(({ state }) => state.pending?.kind)).toEqual(['suspended', undefined]);
  await recordOutcome(run, one, paid);
  expect(run.calls.open.map(({ toolUse }) => toolUse.id)).toEqual(['two']);
});

test('goToTools() gives each call beyond `replyCalls` an error result', async () => {
  const { run, results } = await runWith({ limits: { replyCalls: 1 } });
  expect(await goToTools(run, run.log.lastReply)).toEqual({ to: 'tools' });
  expect(results()).toMatchObject([{ toolUseId: 'two', state: 'error' }]);
});

test('interruptOpenCalls() closes each call, with the result that a person decided, and sorts the conversation', async () => {
  const { run, results } = await runWith();
  await run.log.append([userMessage('And?')]);
  const decision = { toolUseId: 'two', type: 'reject', reason: 'Too dear.' } as const;
  run.calls.applyNotes([{ kind: 'decision', decision }]);
  await interruptOpenCalls(run);
  expect(results()).toMatchObject([
    { toolUseId: 'one', state: 'interrupted' },
    { toolUseId: 'two', state: 'denied' },
  ]);
  const roles = run.log.messages.map(({ role }) => role);
  expect(roles).toEqual(['assistant', 'tool', 'tool', 'user']);
});

test('interruptOpenCalls() tells about a call as the hooks left it', async () => {
  const { run, events } = await runWith();
  const changedCall = { ...one, input: { sum: 2 } };
  run.calls.markReady(run.calls.open[0]!, changedCall);
  await interruptOpenCalls(run);
  expect(events).toMatchObject([{ toolUse: changedCall }, { toolUse: two }]);
});

test('interruptOpenCalls() of a run that the log does not know changes nothing', async () => {
  const { run, status, results } = await runWith();
  status.openRunId = 'earlier';
  await interruptOpenCalls(run);
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
  const { run, results } = await runWith();
  run.calls.suspend(one, { suspended: true });
  run.ending.fail(failure);
  await expect(interruptOpenCalls(run)).rejects.toBe(run.ending.failure);
  expect(results().map(({ toolUseId }) => toolUseId)).toEqual(closed);
});
