import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { userMessage } from '../message/msg.ts';
import type { ChatModel, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { fallback } from '../resilience/fallback.ts';
import { retry } from '../resilience/retry.ts';
import { wrapModel } from '../model/wrap-model.ts';
import { TokenCalibration, withCalibration } from './token-calibration.ts';

const signal = AbortSignal.abort();
const request: ModelRequest = { messages: [userMessage('x'.repeat(8000))], tools: [] };

async function read(
  model: ChatModel,
  asked: ModelRequest = request,
): Promise<readonly (readonly ModelDelta[])[]> {
  const batches = [];
  for await (const deltas of model.stream(asked, { signal: new AbortController().signal }))
    batches.push(deltas);
  return batches;
}

function scripted(inputTokens: number): ScriptedModel {
  return new ScriptedModel([{ text: 'Fine.', usage: { inputTokens, outputTokens: 5 } }]);
}

test('a calibrated model has the properties of its model, and gives the same reply', async () => {
  const [model, same] = [scripted(3000), scripted(3000)];
  const wrapped = withCalibration(model, new TokenCalibration());
  expect([wrapped.provider, wrapped.modelId, wrapped.features]).toEqual([
    model.provider,
    model.modelId,
    model.features,
  ]);
  expect(await read(wrapped)).toEqual(await read(same));
  expect(model.requests[0]?.messages).toBe(request.messages);
});

test('each reply updates the ratio of its model', async () => {
  const calibration = new TokenCalibration();
  const model = scripted(3000);
  await read(withCalibration(model, calibration));
  expect(calibration.ratios()).toEqual({ [model.modelId]: 1.5 });
});

test('ignores a request with a response schema', async () => {
  const calibration = new TokenCalibration();
  await read(withCalibration(scripted(3000), calibration), {
    ...request,
    responseSchema: { type: 'object' },
  });
  expect(calibration.ratios()).toEqual({});
});

test('inside of retries and fallbacks, it learns from each request, for the model that answered', async () => {
  const calibration = new TokenCalibration();
  const usage = { inputTokens: 3000, outputTokens: 5 };
  const down = new AgentError('MODEL_SERVER', 'down', { retryable: true });
  const broken = { deltas: [[{ type: 'finish', reason: 'error', usage }]], error: down } as const;
  const flaky = new ScriptedModel([broken, broken], { modelId: 'flaky' });
  const other = new ScriptedModel([{ text: 'Fine.', usage: { ...usage, inputTokens: 2400 } }], {
    modelId: 'other',
  });
  const first = withCalibration(flaky, calibration);
  const whole = wrapModel(
    first,
    fallback([withCalibration(other, calibration)]),
    retry({ attempts: 2, afterFirstDelta: true, sleep: async () => {} }),
  );
  await read(whole);
  expect(flaky.requests).toHaveLength(2);
  expect(calibration.ratios()).toEqual({ flaky: 1.5, other: 1.2 });
});

test('ignores a reply without usage, or with zero tokens', async () => {
  const calibration = new TokenCalibration();
  for (const usage of [undefined, { inputTokens: 0, outputTokens: 0 }]) {
    const finish: ModelDelta = { type: 'finish', reason: 'stop', ...(usage && { usage }) };
    await read(
      withCalibration(
        new ScriptedModel([{ deltas: [[{ type: 'text', id: '0', delta: 'a' }, finish]] }]),
        calibration,
      ),
    );
  }
  expect(calibration.ratios()).toEqual({});
});

test('leaving the stream ends the model’s stream and updates no ratio', async () => {
  const calibration = new TokenCalibration();
  let ended = false;
  const model: ChatModel = {
    provider: 'test',
    modelId: 'm',
    features: { tools: true, media: [] },
    async *stream() {
      try {
        yield [{ type: 'text', id: '0', delta: 'a' }];
        yield [{ type: 'finish', reason: 'stop', usage: { inputTokens: 3000, outputTokens: 1 } }];
      } finally {
        ended = true;
      }
    },
  };
  for await (const deltas of withCalibration(model, calibration).stream(request, { signal })) {
    expect(deltas).toHaveLength(1);
    break;
  }
  expect([ended, calibration.ratios()]).toEqual([true, {}]);
});
