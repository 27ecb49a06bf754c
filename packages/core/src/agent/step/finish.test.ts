import { expect, test } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { assistantMessage, textOf, toolResultsOf, userMessage } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';
import { endStopped, endThrown, finish } from './finish.ts';

const call = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
const answer = assistantMessage('So.');

test('endStopped() says how each halt ends the run', async () => {
  const interrupted = liveRun({ recoveryMessage: 'Well?' }).run;
  interrupted.ending.stopWith({ kind: 'interrupted' });
  const ending = await endStopped(interrupted);
  expect(ending).toMatchObject({ kind: 'custom', reason: 'interrupted' });
  expect(textOf(ending.message!)).toBe('Well?');
  const suspended = liveRun().run;
  await openWith(suspended, userMessage('Why?'), answer);
  suspended.ending.stopWith({ kind: 'suspended' });
  expect(await endStopped(suspended)).toMatchObject({ reason: 'suspended', message: answer });
  const rejected = liveRun().run;
  rejected.ending.haltWith(new AgentError('GUARD_REJECTED', 'No.'));
  expect(await endStopped(rejected)).toMatchObject({
    reason: 'rejected',
    error: { message: 'No.' },
  });
});

test('endStopped() of an abort stores the part of the reply that readers have', async () => {
  const { run } = liveRun();
  await run.log.open();
  run.ending.abort();
  expect(await endStopped(run, answer)).toMatchObject({ reason: 'aborted', message: answer });
  expect(run.log.messages).toEqual([answer]);
  expect(run.ending.stage).toBe('aborting');
});

test('endStopped() of a failure closes the open calls and rejects with it', async () => {
  const { run } = liveRun();
  await openWith(run, assistantMessage([call]));
  run.ending.fail(new Error('broken'));
  await expect(endStopped(run)).rejects.toBe(run.ending.failure);
  expect(run.calls.open).toEqual([]);
});

test('endStopped() of a run that nothing stopped names the member that a wrapper called', async () => {
  await expect(endStopped(liveRun().run)).rejects.toThrow('run.ending.whenStopped()');
});

test('endThrown() ends a rejected run, and throws other errors after it has closed the open calls', async () => {
  const { run } = liveRun();
  await openWith(run, assistantMessage([call]));
  const error = new Error('broken');
  await expect(endThrown(run, error)).rejects.toBe(error);
  expect(run.calls.open).toEqual([]);
  const rejection = new AgentError('GUARD_REJECTED', 'No.');
  expect(await endThrown(liveRun().run, rejection)).toMatchObject({ reason: 'rejected' });
});

test('finish() passes an answer through the post-call hooks, then stores it', async () => {
  const stored: number[] = [];
  const { run, types } = liveRun({
    use: [{ on: { 'post-call': (_event, { messages }) => void stored.push(messages.length) } }],
  });
  await run.log.open();
  const end = await finish(run, { kind: 'answer', reason: 'stop', message: answer });
  expect(end).toMatchObject({ reason: 'stop', message: { id: answer.id } });
  expect(stored).toEqual([0]);
  expect(run.log.messages).toHaveLength(1);
  expect(types()).toEqual(['post-call']);
  expect(run.ending.stage).toBe('ending');
});

test('finish() closes the open calls, unless the ending keeps them', async () => {
  for (const keepsCalls of [true, false]) {
    const { run } = liveRun();
    await openWith(run, assistantMessage([call]));
    await finish(run, { kind: 'unanswered', reason: 'stopped-by-hook', keepsCalls });
    expect(run.calls.open).toHaveLength(keepsCalls ? 1 : 0);
  }
});

test('finish() of a suspended run keeps its calls and names the pending ones', async () => {
  const { run, events } = liveRun();
  await openWith(run, assistantMessage([call]));
  run.calls.suspend(call, { suspended: true });
  await finish(run, { kind: 'unanswered', reason: 'suspended' });
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'suspended', pending: run.calls.pending }),
  );
  expect(run.log.messages.flatMap(toolResultsOf)).toEqual([]);
});

test('finish() sends a message that no model wrote to the readers, and marks it with the reason', async () => {
  const { run, types } = liveRun();
  await run.log.open();
  const { message } = await finish(run, { kind: 'custom', reason: 'interrupted', message: answer });
  expect(message).toMatchObject({ metadata: { reason: 'interrupted' } });
  expect(types()).toEqual(['reasoning-chunk']);
});

test('finish() ends as aborted if the run is aborted meanwhile', async () => {
  const hang = (): Promise<never> => {
    run.ending.abort();
    return new Promise(() => {});
  };
  const { run } = liveRun({ use: [{ on: { 'post-call': hang } }] });
  await run.log.open();
  const end = await finish(run, { kind: 'answer', reason: 'stop', message: answer });
  expect(end.reason).toBe('aborted');
});

test('finish() stores nothing of a rejected run', async () => {
  const { run } = liveRun();
  await run.log.open();
  await finish(run, { kind: 'custom', reason: 'rejected', message: answer });
  expect(run.log.messages).toEqual([]);
});
