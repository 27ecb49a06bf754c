import { expect, test, vi } from 'vitest';
import { assistantMessage, textOf } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';
import type { JumpRequest } from './outbox.ts';

const reset = (reason: string) => ({ reason });

test('an event has the ids of its run, and numbers that only grow', async () => {
  const { live, events } = liveRun({ userId: 'ann' });
  live.totals.iteration = 2;
  await live.outbox.emit('step-reset', reset('one'));
  await live.outbox.emit('step-reset', reset('two'));
  const base = {
    runId: live.info.runId,
    sessionId: 's',
    userId: 'ann',
    agentPath: ['a'],
    iteration: 2,
  };
  expect(events).toEqual([
    { ...base, at: 0, seq: 1, type: 'step-reset', reason: 'one' },
    { ...base, at: 0, seq: 2, type: 'step-reset', reason: 'two' },
  ]);
});

test('emit() tells the hooks before the readers', async () => {
  const order: string[] = [];
  const { live } = liveRun({ use: [{ on: { 'step-reset': () => void order.push('hook') } }] });
  live.outbox.deliver = () => void order.push('reader');
  await live.outbox.emit('step-reset', reset('one'));
  expect(order).toEqual(['hook', 'reader']);
});

test('an event that others have overtaken gets a new number, because readers skip lower ones', async () => {
  const { live, events } = liveRun();
  const slow = live.outbox.event('step-reset', reset('slow'));
  await live.outbox.emit('step-reset', reset('fast'));
  await live.outbox.tellReaders([slow]);
  expect(events.map(({ seq }) => seq)).toEqual([2, 3]);
});

test('events of a child run get numbers of this run', async () => {
  const { live, events } = liveRun();
  const event = live.outbox.event('step-reset', reset('child'));
  await live.outbox.tellReaders([{ ...event, runId: 'child', seq: 70, agentPath: ['a', 'b'] }]);
  expect(events).toMatchObject([{ seq: 2, runId: 'child', agentPath: ['a', 'b'] }]);
});

test('askHooks() returns the event that the hooks left, and says what they asked for: a stop before any jump, then the first jump', async () => {
  const { live } = liveRun({
    use: [
      { on: { 'pre-reasoning': (event) => event.gotoReasoning([]) } },
      { on: { 'pre-reasoning': (event) => event.jumpTo('end') } },
      { on: { 'pre-reasoning': (event) => ({ ...event, options: { temperature: 1 } }) } },
    ],
  });
  const data = { messages: [], tools: [], options: {} };
  const jumped: JumpRequest = {};
  const event = await live.outbox.askHooks('pre-reasoning', data, jumped);
  expect(event.options).toEqual({ temperature: 1 });
  expect(jumped.jump).toMatchObject({ at: 'pre-reasoning', to: 'model' });
  const stopping = liveRun({
    use: [
      { on: { 'pre-reasoning': (each) => each.jumpTo('end') } },
      { on: { 'pre-reasoning': (each) => each.stop() } },
    ],
  }).live;
  const stopped: JumpRequest = {};
  await stopping.outbox.askHooks('pre-reasoning', data, stopped);
  expect(stopped.jump).toMatchObject({ to: 'stop' });
});

test('without hooks, an event passes without a promise', () => {
  const { outbox } = liveRun().live;
  const event = outbox.event('step-reset', reset('one'));
  expect(outbox.tellHooks(event)).toBe(event);
  expect(outbox.askHooks('post-call', { message: assistantMessage('Hi.') }, {})).not.toBeInstanceOf(
    Promise,
  );
});

test('reject() ends the run with HOOK_REJECTED, and no later hook gets the event', async () => {
  const later = vi.fn();
  const { live } = liveRun({
    use: [
      { on: { 'pre-call': (event) => event.reject('Not now.') } },
      { on: { 'pre-call': later } },
    ],
  });
  await live.outbox.askHooks('pre-call', { input: [] }, {});
  expect(live.halt.cause).toMatchObject({
    kind: 'rejected',
    error: { code: 'HOOK_REJECTED', message: 'Not now.' },
  });
  expect(later).not.toHaveBeenCalled();
});

test('tellLast() of a failure reaches the readers, even if a hook and mapEvent fail', async () => {
  const fail = (): never => {
    throw new Error('broken');
  };
  const { live, types } = liveRun({ use: [{ on: { error: fail }, mapEvent: fail }] });
  const error = { name: 'AgentError', code: 'INTERNAL', message: 'x', retryable: false } as const;
  const event = live.outbox.event('error', { error });
  expect(await live.outbox.tellLast(event, true)).toBe(event);
  expect(types()).toEqual(['error']);
  await expect(live.outbox.tellLast(event, false)).rejects.toThrow('broken');
});

test('unstoredReply() is what readers have and the log has not, without tool calls', async () => {
  const { live } = liveRun();
  const call = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
  expect(live.outbox.unstoredReply()).toBeUndefined();
  const reply = assistantMessage([{ type: 'text', text: 'I pay.' }, call]);
  live.outbox.noteShown(reply);
  expect(live.outbox.unstoredReply()).toMatchObject({
    id: reply.id,
    content: [{ type: 'text', text: 'I pay.' }],
    metadata: { partial: 'aborted' },
  });
  live.outbox.noteShown(assistantMessage([call]));
  expect(live.outbox.unstoredReply()).toBeUndefined();
  live.outbox.noteShown(reply);
  await live.outbox.emit('step-reset', { reason: 'x', replacement: assistantMessage('New.') });
  expect(textOf(live.outbox.unstoredReply()!)).toBe('New.');
  live.outbox.noteShown(reply);
  await openWith(live, reply);
  expect(live.outbox.unstoredReply()).toBeUndefined();
});
