import { expect, test } from 'vitest';
import { toolUsesOf, assistantMessage, textOf } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';
import { readReply } from './read-reply.ts';

const request = { messages: [], tools: [] };

test('a reply has its text, its usage, and a new id; readers get one event per piece', async () => {
  const { live, events } = liveRun({ replies: ['It is nine.'] });
  const reply = await readReply(live, request);
  expect(reply).toMatchObject({ type: 'complete', message: { role: 'assistant', name: 'a' } });
  expect(textOf(reply.message!)).toBe('It is nine.');
  expect(events.map((event) => ('delta' in event ? event.delta : '')).join('')).toBe('It is nine.');
  expect(live.totals.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  expect(live.outbox.unstoredReply()?.id).toBe(reply.message!.id);
});

test('readers get nothing of a reply whose pieces become no events', async () => {
  const { live, events } = liveRun({ replies: ['Secret.'] });
  expect(await readReply(live, request, () => undefined)).toMatchObject({ type: 'complete' });
  expect(events).toEqual([]);
  expect(live.outbox.unstoredReply()).toBeUndefined();
});

test('a tool call gets a new id if the session has its id already', async () => {
  const { live } = liveRun({ replies: [{ toolCalls: [{ name: 'pay', id: 'c' }] }] });
  await openWith(live, assistantMessage([{ type: 'tool_use', id: 'c', name: 'pay', input: {} }]));
  const { message } = await readReply(live, request);
  expect(toolUsesOf(message!)).toMatchObject([{ name: 'pay' }]);
  expect(toolUsesOf(message!)[0]!.id).not.toBe('c');
});

test('a run that was stopped asks no model', async () => {
  const { live, model } = liveRun({ replies: ['Hi.'] });
  live.halt.stopWith({ kind: 'interrupted' });
  expect(await readReply(live, request)).toEqual({ type: 'incomplete', message: undefined });
  expect(model.requests).toEqual([]);
});

test('an interrupt keeps the part of a reply that readers have', async () => {
  const { live } = liveRun({
    replies: ['It is nine.'],
    use: [{ on: { 'reasoning-chunk': (_event, { ending }) => void ending.interrupt() } }],
  });
  const { type, message } = await readReply(live, request);
  expect(type).toBe('incomplete');
  expect(message).toMatchObject({ metadata: { partial: 'interrupted' } });
  expect('It is nine.').toContain(textOf(message!).trim());
  expect(textOf(message!)).not.toBe('It is nine.');
});

test('the error of a model is an AgentError, and what the reply used counts', async () => {
  const { live } = liveRun({ replies: [{ text: 'It', error: new Error('down') }] });
  await expect(readReply(live, request)).rejects.toMatchObject({ name: 'AgentError' });
});
