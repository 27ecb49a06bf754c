import { AgentError } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { pageModel } from '@isoloop/web-worker';
import { expect, test } from 'vitest';
import { initialCredits } from '../../wire/protocol.ts';
import { startPageWorker } from '../../../test-support/page-under-test.ts';

test('pageModel() calls tools by text, can be aborted, keeps error codes, and fails when its page leaves', async () => {
  const rateLimited = new AgentError('MODEL_RATE_LIMITED', 'slow down', {
    details: { retryAfterMs: 9 },
  });
  const replies = [
    '{"think": "", "tool_name": "here", "arguments": {}}',
    'In the worker.',
    { text: 'one ', error: rateLimited },
    { text: 'one two', hang: true },
    { hang: true },
  ];
  const model = new ScriptedModel(replies, { features: { tools: false } });
  const { connect } = startPageWorker();
  await expect(
    connect({}, { agent: 'browser', sessionId: 'none' }).call('go'),
  ).rejects.toMatchObject({ code: 'CONFIGURATION' });
  const agent = connect({}, { agent: 'browser', page: [pageModel(model)] });
  const other = connect({}, { agent: 'browser' });
  expect(await agent.call('where?')).toMatchObject({ text: 'In the worker.', toolsUsed: ['here'] });
  await expect(agent.call('more')).rejects.toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    details: { retryAfterMs: 9 },
  });
  const stream = agent.stream('count');
  for await (const event of stream) if (event.type === 'reasoning-chunk') break;
  expect((await stream.result).reason).toBe('aborted');
  const call = other.call('and now?');
  await expect.poll(() => model.requests.length).toBe(5);
  agent.close();
  await expect(call).rejects.toMatchObject({ code: 'MODEL_UNREACHABLE', retryable: true });
});

test('when the reader of a run stops, the worker stops reading the page’s model', async () => {
  const model = new ScriptedModel([
    Array.from({ length: 1000 }, (_, index) => `w${index} `).join(''),
  ]);
  const agent = startPageWorker().connect({}, { agent: 'browser', page: [pageModel(model)] });
  const batches = agent.stream('go').batches()[Symbol.asyncIterator]();
  await batches.next();
  await agent.pending();
  expect(model.reads).toBeLessThanOrEqual(initialCredits + 1);
  await batches.return?.();
});
