import { expect, test } from 'vitest';
import { createMessage, userMessage, type ContentBlock, type Msg } from '../message/msg.ts';
import { arc } from './arc-profile.ts';
import { o200k } from './profiles.ts';
import { TokenCalibration, type ObservedRequest, withCalibration } from './token-calibration.ts';
import { countRequest } from './count-message.ts';
import { AgentError } from '../error/agent-error.ts';
import type { ChatModel, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { fallback } from '../resilience/fallback.ts';
import { retry } from '../resilience/retry.ts';
import { wrapModel } from '../model/wrap-model.ts';

const image: ContentBlock = {
  type: 'image',
  source: { type: 'url', url: 'https://example.com/cat.png' },
};

/**
 * Returns a request that `arc` estimates at this many tokens, with the count that its provider
 * reports.
 */
function request(
  estimated: number,
  inputTokens: number,
  more: readonly Msg[] = [],
): ObservedRequest {
  return {
    messages: [userMessage('x'.repeat(estimated * 4)), ...more],
    tools: [],
    usage: { inputTokens, outputTokens: 1 },
  };
}

test('does not correct the count of a model without observations', () => {
  const calibration = new TokenCalibration();
  expect([calibration.ratioOf('gpt-5'), calibration.correct('gpt-5', 1234)]).toEqual([1, 1234]);
});

test('the ratio is the average of the first requests, and later ones move it by `weight`', () => {
  const calibration = new TokenCalibration({ weight: 0.25 });
  const ratios = [1200, 1400, 1000, 2000, 1600, 1600].map((reported) => {
    expect(calibration.observe('m', request(1000, reported))).toBe(true);
    return calibration.ratioOf('m');
  });
  const expected = [1.2, 1.3, 1.2, 1.4, 1.45, 1.4875];
  for (const [i, ratio] of ratios.entries()) expect(ratio).toBeCloseTo(expected[i]!, 10);
  expect(calibration.correct('m', 10_000)).toBe(14_875);
});

test('the ratio approaches that of a steady provider', () => {
  const calibration = new TokenCalibration();
  for (let n = 0; n < 30; n++) calibration.observe('m', request(2000, n < 10 ? 3000 : 2400));
  expect(calibration.ratioOf('m')).toBeCloseTo(1.2, 2);
});

test('a short request has little weight', () => {
  const calibration = new TokenCalibration();
  calibration.observe('m', request(10, 20));
  expect(calibration.ratioOf('m')).toBeCloseTo(1.01, 10);
  calibration.observe('m', request(500, 1000));
  expect(calibration.ratioOf('m')).toBeCloseTo(1.01 + 0.25 * 0.99, 10);
});

test('models have separate ratios, each between 0.6 and 2', () => {
  const calibration = new TokenCalibration();
  calibration.observe('low', request(1000, 10));
  calibration.observe('high', request(1000, 50_000));
  expect(calibration.ratios()).toEqual({ low: 0.6, high: 2 });
});

test('ignores a request of which it cannot estimate all tokens, or without a usable count', () => {
  const calibration = new TokenCalibration();
  const toolResult = (output: readonly ContentBlock[]): Msg =>
    createMessage('tool', [
      { type: 'tool_result', toolUseId: '1', name: 'draw', output, state: 'success' },
    ]);
  const ignored: readonly ObservedRequest[] = [
    request(1000, 1500, [userMessage([image])]),
    request(1000, 1500, [toolResult([{ type: 'text', text: 'here' }, image])]),
    { ...request(1000, 1500), tools: undefined },
    { ...request(1000, 1500), responseSchema: { type: 'object' } },
    { ...request(1000, 1500), usage: undefined },
    { ...request(1000, 1500), messages: [] },
    {
      ...request(1000, 1500),
      usage: { inputTokens: 100, outputTokens: 1, cachedInputTokens: 1400 },
    },
    ...[0, -5, NaN, Infinity].map((reported) => request(1000, reported)),
  ];
  for (const one of ignored) expect(calibration.observe('m', one)).toBe(false);
  expect(calibration.ratios()).toEqual({});
  expect(
    calibration.observe('m', request(1000, 1500, [toolResult([{ type: 'text', text: '' }])])),
  ).toBe(true);
});

test('tokens from a provider’s cache count too', () => {
  const calibration = new TokenCalibration();
  const usage = { inputTokens: 1500, outputTokens: 1, cachedInputTokens: 1400 };
  expect(calibration.observe('m', { ...request(1000, 0), usage })).toBe(true);
  expect(calibration.ratioOf('m')).toBe(1.5);
});

test('tools are part of the estimate', () => {
  const tools = [{ name: 'a', description: 'x'.repeat(4000), parameters: {} }];
  const calibration = new TokenCalibration();
  const reported = countRequest({ ...request(1000, 0), tools }, arc);
  calibration.observe('m', { ...request(1000, reported), tools });
  expect(calibration.ratioOf('m')).toBe(1);
});

test('corrects the profile that it was created with', () => {
  const calibration = new TokenCalibration({ profile: o200k });
  const messages = [userMessage('안녕하세요, 오늘은 날씨가 좋네요. '.repeat(100))];
  const estimated = countRequest({ messages, tools: [] }, o200k);
  calibration.observe('m', {
    messages,
    tools: [],
    usage: { inputTokens: Math.round(estimated * 1.5), outputTokens: 1 },
  });
  expect(calibration.ratioOf('m')).toBeCloseTo(1.5, 3);
});

test('ratios can be saved and restored, and later requests move them', () => {
  const calibration = new TokenCalibration();
  calibration.observe('m', request(1000, 1500));
  const stored = JSON.parse(JSON.stringify(calibration.ratios()));
  const next = new TokenCalibration({ ratios: stored, weight: 0.5 });
  expect(next.ratioOf('m')).toBe(1.5);
  next.observe('m', request(1000, 1000));
  expect(next.ratioOf('m')).toBe(1.25);
  expect(new TokenCalibration({ ratios: { m: 50 } }).ratioOf('m')).toBe(2);
});

test('rejects an invalid weight or ratio', () => {
  for (const weight of [0, -1, 1.1, NaN]) {
    expect(() => new TokenCalibration({ weight })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
  for (const ratio of [0, -1, NaN]) {
    expect(() => new TokenCalibration({ ratios: { m: ratio } })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
});

const signal = AbortSignal.abort();
const modelRequest: ModelRequest = { messages: [userMessage('x'.repeat(8000))], tools: [] };

async function read(
  model: ChatModel,
  asked: ModelRequest = modelRequest,
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
  expect(model.requests[0]?.messages).toBe(modelRequest.messages);
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
    ...modelRequest,
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
  for await (const deltas of withCalibration(model, calibration).stream(modelRequest, { signal })) {
    expect(deltas).toHaveLength(1);
    break;
  }
  expect([ended, calibration.ratios()]).toEqual([true, {}]);
});
