import { expect, test } from 'vitest';
import { assistantMessage, textOf, toolMessage, userMessage } from '../../message/msg.ts';
import { errorResult } from '../../tool/tool-call.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';
import { jump, jumpOfRound, revise } from './jump.ts';

const reply = assistantMessage('Draft.');
const at = 'post-reasoning';

test('revise() gives readers the changed message before the event, and returns no next without a wish', async () => {
  const { live, types } = liveRun({
    use: [{ on: { [at]: (event) => ({ ...event, message: assistantMessage('Final.') }) } }],
  });
  const { event, next } = await revise(live, at, { message: reply });
  expect(textOf(event.message)).toBe('Final.');
  expect(next).toBeUndefined();
  expect(types()).toEqual(['step-reset', at]);
});

test('revise() carries out what a hook asks for', async () => {
  const { live, types } = liveRun({ use: [{ on: { [at]: (event) => event.stop() } }] });
  expect(await revise(live, at, { message: reply })).toMatchObject({
    next: { kind: 'unanswered', reason: 'stopped-by-hook', stoppedAt: at, keepsCalls: true },
  });
  expect(types()).toEqual([at]);
});

test('jumpOfRound() carries out what hooks asked for at tool calls, once', async () => {
  const { live } = liveRun();
  await openWith(live, reply);
  live.calls.roundJump.jump = { at: 'post-acting', to: 'stop' };
  expect(await jumpOfRound(live)).toMatchObject({ kind: 'unanswered', message: reply });
  expect(await jumpOfRound(live)).toBeUndefined();
});

test('a jump to the model stores the reply and the messages of the hook first', async () => {
  const { live } = liveRun();
  await live.log.open();
  const more = userMessage('Shorter.');
  expect(await jump(live, { at, to: 'model', messages: [more] }, reply)).toEqual({
    to: 'model',
    mustAsk: true,
  });
  expect(live.log.messages.map((message) => textOf(message))).toEqual(['Draft.', 'Shorter.']);
});

test('a jump to the end leaves its last message to the ending, unless it is a tool result', async () => {
  const { live } = liveRun();
  await live.log.open();
  const answer = assistantMessage('Instead.');
  expect(await jump(live, { at, to: 'end', messages: [answer] }, reply)).toMatchObject({
    kind: 'custom',
    message: answer,
    keepsCalls: false,
  });
  expect(live.log.messages).toEqual([reply]);
  const call = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
  const messages = [assistantMessage([call]), toolMessage(errorResult(call, 'no'))];
  expect(await jump(live, { at, to: 'end', messages })).toMatchObject({ kind: 'unanswered' });
  expect(live.log.messages).toHaveLength(3);
});

test('a jump to the end without messages ends with the reply, which it does not store', async () => {
  const { live } = liveRun();
  await live.log.open();
  expect(await jump(live, { at, to: 'end' }, reply)).toMatchObject({ message: reply });
  expect(live.log.messages).toEqual([]);
});

test('an error names the hook whose messages are not valid, and nothing is stored', async () => {
  const { live } = liveRun();
  await openWith(live, reply);
  const jumped = jump(live, { at, to: 'model', messages: [reply], hook: 'again' });
  await expect(jumped).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('Hook "again" at post-reasoning') as string,
    details: { hook: 'again', event: at },
  });
  expect(live.log.messages).toEqual([reply]);
});
