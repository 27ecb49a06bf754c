import { expect, test } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { assistantMessage, textOf, toolResultsOf, userMessage } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';
import { endStopped, endThrown, finish } from './finish.ts';

const call = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
const answer = assistantMessage('So.');

test('endStopped() says how each halt ends the run', async () => {
  const interrupted = liveRun({ recoveryMessage: 'Well?' }).live;
  interrupted.halt.stopWith({ kind: 'interrupted' });
  const ending = await endStopped(interrupted);
  expect(ending).toMatchObject({ kind: 'custom', reason: 'interrupted' });
  expect(textOf(ending.message!)).toBe('Well?');
  const suspended = liveRun().live;
  await openWith(suspended, userMessage('Why?'), answer);
  suspended.halt.stopWith({ kind: 'suspended' });
  expect(await endStopped(suspended)).toMatchObject({ reason: 'suspended', message: answer });
  const rejected = liveRun().live;
  rejected.halt.haltWith(new AgentError('GUARD_REJECTED', 'No.'));
  expect(await endStopped(rejected)).toMatchObject({
    reason: 'rejected',
    error: { message: 'No.' },
  });
});

test('endStopped() of an abort stores the part of the reply that readers have', async () => {
  const { live } = liveRun();
  await live.log.open();
  live.halt.abort();
  expect(await endStopped(live, answer)).toMatchObject({ reason: 'aborted', message: answer });
  expect(live.log.messages).toEqual([answer]);
  expect(live.halt.stage).toBe('aborting');
});

test('endStopped() of a failure closes the open calls and rejects with it', async () => {
  const { live } = liveRun();
  await openWith(live, assistantMessage([call]));
  live.halt.fail(new Error('broken'));
  await expect(endStopped(live)).rejects.toBe(live.halt.failure);
  expect(live.calls.open).toEqual([]);
});

test('endStopped() of a run that nothing stopped names the member that a wrapper called', async () => {
  await expect(endStopped(liveRun().live)).rejects.toThrow('run.ending.whenStopped()');
});

test('endThrown() ends a rejected run, and throws other errors after it has closed the open calls', async () => {
  const { live } = liveRun();
  await openWith(live, assistantMessage([call]));
  const error = new Error('broken');
  await expect(endThrown(live, error)).rejects.toBe(error);
  expect(live.calls.open).toEqual([]);
  const rejection = new AgentError('GUARD_REJECTED', 'No.');
  expect(await endThrown(liveRun().live, rejection)).toMatchObject({ reason: 'rejected' });
});

test('finish() passes an answer through the post-call hooks, then stores it', async () => {
  const stored: number[] = [];
  const { live, types } = liveRun({
    use: [{ on: { 'post-call': (_event, { messages }) => void stored.push(messages.length) } }],
  });
  await live.log.open();
  const end = await finish(live, { kind: 'answer', reason: 'stop', message: answer });
  expect(end).toMatchObject({ reason: 'stop', message: { id: answer.id } });
  expect(stored).toEqual([0]);
  expect(live.log.messages).toHaveLength(1);
  expect(types()).toEqual(['post-call']);
  expect(live.halt.stage).toBe('finishing');
});

test('finish() closes the open calls, unless the ending keeps them', async () => {
  for (const keepsCalls of [true, false]) {
    const { live } = liveRun();
    await openWith(live, assistantMessage([call]));
    await finish(live, { kind: 'unanswered', reason: 'stopped-by-hook', keepsCalls });
    expect(live.calls.open).toHaveLength(keepsCalls ? 1 : 0);
  }
});

test('finish() of a suspended run keeps its calls and names the pending ones', async () => {
  const { live, events } = liveRun();
  await openWith(live, assistantMessage([call]));
  live.calls.suspend(call, { suspended: true });
  await finish(live, { kind: 'unanswered', reason: 'suspended' });
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'suspended', pending: live.calls.pending }),
  );
  expect(live.log.messages.flatMap(toolResultsOf)).toEqual([]);
});

test('finish() sends a message that no model wrote to the readers, and marks it with the reason', async () => {
  const { live, types } = liveRun();
  await live.log.open();
  const { message } = await finish(live, {
    kind: 'custom',
    reason: 'interrupted',
    message: answer,
  });
  expect(message).toMatchObject({ metadata: { reason: 'interrupted' } });
  expect(types()).toEqual(['reasoning-chunk']);
});

test('finish() ends as aborted if the run is aborted meanwhile', async () => {
  const hang = (): Promise<never> => {
    live.halt.abort();
    return new Promise(() => {});
  };
  const { live } = liveRun({ use: [{ on: { 'post-call': hang } }] });
  await live.log.open();
  const end = await finish(live, { kind: 'answer', reason: 'stop', message: answer });
  expect(end.reason).toBe('aborted');
});

test('finish() stores nothing of a rejected run', async () => {
  const { live } = liveRun();
  await live.log.open();
  await finish(live, { kind: 'custom', reason: 'rejected', message: answer });
  expect(live.log.messages).toEqual([]);
});
