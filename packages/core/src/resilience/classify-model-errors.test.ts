import { expect, test } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { arcReactor } from '@isoloop/presets';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { classifyModelErrors } from './classify-model-errors.ts';
import { retry } from './retry.ts';

const withFields = (message: string, fields: object): Error =>
  Object.assign(new Error(message), fields);
const now = retry({ sleep: async () => {} });

test.each<[string, unknown, string, boolean]>([
  ['429 as a status', withFields('slow down', { status: 429 }), 'MODEL_RATE_LIMITED', true],
  ['429 in words', new Error('HTTP 429'), 'MODEL_RATE_LIMITED', true],
  ['a rate limit in words', 'Rate limit exceeded', 'MODEL_RATE_LIMITED', true],
  ['a cause', new Error('failed', { cause: { status: 503 } }), 'MODEL_SERVER', true],
  ['a time-out', new Error('Request timed out'), 'MODEL_TIMEOUT', true],
  ['a signal’s time-out', new DOMException('late', 'TimeoutError'), 'MODEL_TIMEOUT', true],
  ['a context length', new Error('maximum context length is 8'), 'MODEL_CONTEXT_LENGTH', false],
  [
    'a context length with its status',
    withFields('This model’s maximum context length is 8 tokens', { status: 400 }),
    'MODEL_CONTEXT_LENGTH',
    false,
  ],
  [
    'a context length as a code',
    withFields('too much', { code: 'context_length_exceeded' }),
    'MODEL_CONTEXT_LENGTH',
    false,
  ],
  ['a thrown object', { message: 'rate limit' }, 'MODEL_RATE_LIMITED', true],
  ['an AgentError', new AgentError('MODEL_AUTH', 'no key'), 'MODEL_AUTH', false],
  ['anything else', new TypeError('x is undefined'), 'INTERNAL', false],
])('an error of a custom model gets a code: %s', async (_what, error, code, retryable) => {
  for (const use of [[classifyModelErrors()], [arcReactor(), now]]) {
    const { agent } = scriptedAgent(
      Array.from({ length: 3 }, () => ({ error })),
      { use },
    );
    expect(await agent.call('Hi', { throwOnError: false })).toMatchObject({
      reason: 'error',
      error: { code, retryable },
    });
  }
});

test('the error keeps its message, its cause and the retry time that the server sent', async () => {
  const inner = new AgentError('MODEL_RATE_LIMITED', 'x', {
    retryable: true,
    details: { retryAfterMs: 1500 },
  });
  const error = new Error('Busy', { cause: inner });
  const { agent } = scriptedAgent([{ error }], { use: [classifyModelErrors()] });
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    message: 'Busy',
    details: { retryAfterMs: 1500 },
    cause: error,
  });
});

test('classifyModelErrors() handles a model that throws in stream(), after a delta, or at its first read', async () => {
  const { provider, modelId, features } = new ScriptedModel([]);
  const throwing: ChatModel = {
    provider,
    modelId,
    features,
    stream() {
      throw new Error('HTTP 503');
    },
  };
  const models = [
    throwing,
    new ScriptedModel([{ text: 'Half', error: new Error('HTTP 503') }]),
    new ScriptedModel([{ error: new Error('HTTP 503') }]),
  ];
  for (const model of models) {
    const agent = new ReActAgent({ name: 'a', model, use: [classifyModelErrors()] });
    await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
  }
});

test('classifyModelErrors() does not change an abort', async () => {
  const { agent } = scriptedAgent([{ hang: true }], { use: [arcReactor()] });
  expect(await agent.call('Hi', { signal: AbortSignal.abort() })).toMatchObject({
    reason: 'aborted',
  });
});
