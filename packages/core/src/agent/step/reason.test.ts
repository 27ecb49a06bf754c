import { expect, test, vi } from 'vitest';
import { assistantMessage, textOf, toolResultsOf, userMessage } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';
import { afterReply, reason } from './reason.ts';

const call = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;

test('a reply without tool calls is an answer that the log does not have yet', async () => {
  const { live, types } = liveRun({ replies: ['So.'] });
  await openWith(live, userMessage('Why?'));
  const next = await reason(live);
  expect(next).toMatchObject({ kind: 'answer', reason: 'stop' });
  expect(live.log.messages).toHaveLength(1);
  expect(live.totals.iteration).toBe(1);
  expect(types().filter((type) => type !== 'reasoning-chunk')).toEqual([
    'pre-reasoning',
    'post-reasoning',
  ]);
});

test('a reply with tool calls is stored, and the tools come next', async () => {
  const { live } = liveRun({ replies: [{ toolCalls: [{ name: 'pay' }] }] });
  await openWith(live, userMessage('Pay.'));
  expect(await reason(live)).toEqual({ to: 'tools' });
  expect(live.calls.open).toHaveLength(1);
});

test('open calls get a result before the model is asked', async () => {
  const { live, model } = liveRun({ replies: ['So.'] });
  await openWith(live, assistantMessage([call]));
  await reason(live);
  const results = model.requests[0]!.messages.flatMap(toolResultsOf);
  expect(results).toMatchObject([{ toolUseId: 'c', state: 'interrupted' }]);
});

test('a jump that hooks asked for outside of a round comes before the request', async () => {
  const { live, model } = liveRun({ replies: ['So.'] });
  await openWith(live, assistantMessage([call]));
  live.calls.roundJump.jump = { at: 'post-acting', to: 'stop' };
  expect(await reason(live)).toMatchObject({ kind: 'unanswered', keepsCalls: true });
  expect(live.calls.open).toHaveLength(1);
  expect(model.requests).toEqual([]);
});

test('the draft has the limit of iterations, and a limit ends the run without a request', async () => {
  const { live, model } = liveRun({ replies: ['So.'], limits: { iterations: 0 } });
  await openWith(live, userMessage('Why?'));
  const next = await reason(live);
  expect(next).toMatchObject({
    kind: 'limit',
    reason: 'max-iterations',
    draft: { mustAsk: false },
  });
  expect(model.requests).toEqual([]);
  expect(live.totals.iteration).toBe(0);
});

test('wrapRequest gets the draft and may end the run in its place', async () => {
  const wrapRequest = vi.fn(async () => ({ to: 'tools' }) as const);
  const { live, types } = liveRun({ systemPrompt: 'Be kind.', use: [{ wrapRequest }] });
  await openWith(live, userMessage('Why?'));
  expect(await reason(live, true)).toEqual({ to: 'tools' });
  expect(wrapRequest).toHaveBeenCalledWith(
    expect.objectContaining({ mustAsk: true, fixedCount: 1, addedLater: [], limit: undefined }),
    expect.any(Function),
    live.run,
  );
  expect(types()).toEqual([]);
});

test('readers hear that a reply is dropped which a wrapper did not store', async () => {
  const { live, events } = liveRun({ replies: ['So.'] });
  await openWith(live, userMessage('Why?'));
  live.outbox.noteShown(assistantMessage('Draft.'));
  await reason(live);
  expect(events[0]).toMatchObject({ type: 'step-reset', reason: 'replaced' });
});

test('an aborted request does not count as an iteration', async () => {
  const hang = (): Promise<never> => {
    live.halt.abort(new Error('gone'));
    return new Promise(() => {});
  };
  const { live } = liveRun({ use: [{ on: { 'pre-reasoning': hang } }] });
  await openWith(live, userMessage('Why?'));
  await expect(reason(live)).rejects.toThrow('gone');
  expect(live.totals.iteration).toBe(0);
});

test('afterReply() gives a message that a wrapper puts in place of a reply ids of its own', async () => {
  const message = assistantMessage('So.');
  const { live } = liveRun({
    use: [{ wrapReply: (reply, next) => next({ ...reply, message: { ...message } }) }],
  });
  await openWith(live, message);
  const request = { messages: [], tools: [] };
  const next = await afterReply(live, { message: assistantMessage('Draft.'), request });
  expect(next).toMatchObject({ kind: 'answer' });
  const answer = 'message' in next ? next.message! : message;
  expect(textOf(answer)).toBe('So.');
  expect(answer.id).not.toBe(message.id);
});

test('afterReply() ends the run with a message that no model wrote, without hooks', async () => {
  const { live, types } = liveRun();
  const message = assistantMessage('Done.');
  expect(await afterReply(live, { message, reason: 'stopped-by-hook' })).toEqual({
    kind: 'custom',
    reason: 'stopped-by-hook',
    message,
  });
  expect(types()).toEqual([]);
});
