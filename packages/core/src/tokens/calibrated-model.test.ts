import { expect, test } from 'vitest';
import { userMessage } from '../message/create-message.ts';
import type { ChatModel, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { calibrated } from './calibrated-model.ts';
import { TokenCalibration } from './token-calibration.ts';

const signal = AbortSignal.abort();
const request: ModelRequest = { messages: [userMessage('x'.repeat(8000))], tools: [] };

async function read(model: ChatModel, asked: ModelRequest = request): Promise<readonly (readonly ModelDelta[])[]> {
  const batches = [];
  for await (const deltas of model.stream(asked, { signal: new AbortController().signal })) batches.push(deltas);
  return batches;
}

function scripted(inputTokens: number): ScriptedModel {
  return new ScriptedModel([{ text: 'Fine.', usage: { inputTokens, outputTokens: 5 } }]);
}

test('it is the model, and says what the model says', async () => {
  const [model, same] = [scripted(3000), scripted(3000)];
  const wrapped = calibrated(model, new TokenCalibration());
  expect([wrapped.provider, wrapped.modelId, wrapped.features]).toEqual([model.provider, model.modelId, model.features]);
  expect(await read(wrapped)).toEqual(await read(same));
  expect(model.requests[0]?.messages).toBe(request.messages);
});

test('each reply teaches the ratio of its model', async () => {
  const calibration = new TokenCalibration();
  const model = scripted(3000);
  await read(calibrated(model, calibration));
  expect(calibration.ratios()).toEqual({ [model.modelId]: 1.5 });
});

test('a request with a response schema teaches nothing', async () => {
  const calibration = new TokenCalibration();
  await read(calibrated(scripted(3000), calibration), { ...request, responseSchema: { type: 'object' } });
  expect(calibration.ratios()).toEqual({});
});

test('leaving a reply ends the reading of the model, and teaches nothing', async () => {
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
  for await (const deltas of calibrated(model, calibration).stream(request, { signal })) {
    expect(deltas).toHaveLength(1);
    break;
  }
  expect([ended, calibration.ratios()]).toEqual([true, {}]);
});
