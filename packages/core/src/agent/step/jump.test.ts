import { expect, test } from 'vitest';
import { assistantMessage, textOf, toolMessage, userMessage } from '../../message/msg.ts';
import { errorResult } from '../../tool/tool-call.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';
import { jump, jumpOfRound, revise } from './jump.ts';

const reply = assistantMessage('Draft.');
const at = 'post-reasoning';

test('revise() gives readers the changed message before the event, and returns no next without a wish', async () => {
  const { run, types } = liveRun({
    use: [{ on: { [at]: (event) => ({ ...event, message: assistantMessage('Final.') }) } }],
  });
  const { event, next } = await revise(run, at, { message: reply });
  expect(textOf(event.message)).toBe('Final.');
  expect(next).toBeUndefined();
  expect(types()).toEqual(['step-reset', at]);
});

test('revise() carries out what a hook asks for', async () => {
  const { run, types } = liveRun({ use: [{ on: { [at]: (event) => event.stop() } }] });
  expect(await revise(run, at, { message: reply })).toMatchObject({
    next: { kind: 'unanswered', reason: 'stopped-by-hook', stoppedAt: at, keepsCalls: true },
  });
  expect(types()).toEqual([at]);
});

test('jumpOfRound() carries out what hooks asked for at tool calls, once', async () => {
  const { run } = liveRun();
  await openWith(run, reply);
  run.calls.roundJump.jump = { at: 'post-acting', to: 'stop' };
  expect(await jumpOfRound(run)).toMatchObject({ kind: 'unanswered', message: reply });
  expect(await jumpOfRound(run)).toBeUndefined();
});

test('a jump to the model stores the reply and the messages of the hook first', async () => {
  const { run } = liveRun();
  await run.log.open();
  const more = userMessage('Shorter.');
  expect(await jump(run, { at, to: 'model', messages: [more] }, reply)).toEqual({
    to: 'model',
    mustAsk: true,
  });
  expect(run.log.messages.map((message) => textOf(message))).toEqual(['Draft.', 'Shorter.']);
});

test('a jump to the end leaves its last message to the ending, unless it is a tool result', async () => {
  const { run } = liveRun();
  await run.log.open();
  const answer = assistantMessage('Instead.');
  expect(await jump(run, { at, to: 'end', messages: [answer] }, reply)).toMatchObject({
    kind: 'custom',
    message: answer,
    keepsCalls: false,
  });
  expect(run.log.messages).toEqual([reply]);
  const call = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
  const messages = [assistantMessage([call]), toolMessage(errorResult(call, 'no'))];
  expect(await jump(run, { at, to: 'end', messages })).toMatchObject({ kind: 'unanswered' });
  expect(run.log.messages).toHaveLength(3);
});

test('a jump to the end without messages ends with the reply, which it does not store', async () => {
  const { run } = liveRun();
  await run.log.open();
  expect(await jump(run, { at, to: 'end' }, reply)).toMatchObject({ message: reply });
  expect(run.log.messages).toEqual([]);
});

test('an error names the hook whose messages are not valid, and nothing is stored', async () => {
  const { run } = liveRun();
  await openWith(run, reply);
  const jumped = jump(run, { at, to: 'model', messages: [reply], hook: 'again' });
  await expect(jumped).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('Hook "again" at post-reasoning') as string,
    details: { hook: 'again', event: at },
  });
  expect(run.log.messages).toEqual([reply]);
});
