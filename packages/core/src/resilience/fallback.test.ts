import { expect, test } from 'vitest';
import type { Middleware } from '../agent/middleware.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import { piiRule, outputGuards } from '@isoloop/guards';
import type { AgentEvent } from '../event/agent-event.ts';
import { userMessage, textOf } from '../message/msg.ts';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import type { ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { look } from '@test/support/plain-tools.ts';
import { fallback, type FallbackInfo, type FallbackOptions } from './fallback.ts';
import { retry } from './retry.ts';
import { wrapModel } from '../model/wrap-model.ts';

const down = new AgentError('MODEL_SERVER', 'down', { retryable: true });

function setUp(
  first: readonly ScriptedReply[],
  second: readonly ScriptedReply[],
  options: FallbackOptions = {},
) {
  const a = new ScriptedModel(first, { modelId: 'a' });
  const b = new ScriptedModel(second, { modelId: 'b' });
  return { a, b, model: wrapModel(a, fallback([b], options)) };
}

async function ask(
  model: ReturnType<typeof setUp>['model'],
  request: Partial<ModelRequest> = {},
): Promise<string> {
  const deltas: ModelDelta[] = [];
  const { signal } = new AbortController();
  for await (const some of model.stream(
    { messages: [userMessage('Hi')], tools: [], ...request },
    { signal },
  ))
    deltas.push(...some);
  return deltas
    .map((delta) =>
      delta.type === 'reset' ? `<${delta.reason}>` : delta.type === 'text' ? delta.delta : '',
    )
    .join('');
}

test('the next model gets the same request, and each request begins with the first model again', async () => {
  const told: FallbackInfo[] = [];
  const { a, b, model } = setUp([{ error: down }, 'From a'], ['From b'], {
    onFallback: (one) => void told.push(one),
  });
  expect(await ask(model)).toBe('From b');
  expect(b.requests[0]).toBe(a.requests[0]);
  expect(told).toEqual([{ from: a, to: b, error: down }]);
  expect(await ask(model)).toBe('From a');
});

test('a reset delta discards the text of the model that failed', async () => {
  const { model } = setUp([{ text: 'Half ', error: down }], ['The whole']);
  expect(await ask(model)).toBe('Half <fallback>The whole');
});

test('with `afterFirstDelta: false`, a failure after the first delta rejects', async () => {
  const { b, model } = setUp([{ text: 'Half ', error: down }], ['never'], {
    afterFirstDelta: false,
  });
  await expect(ask(model)).rejects.toBe(down);
  expect(b.requests).toEqual([]);
});

test('if all models fail, the request fails with the last error', async () => {
  const last = new AgentError('MODEL_AUTH', 'no key');
  const { model } = setUp([{ error: down }], [{ error: last }]);
  await expect(ask(model)).rejects.toBe(last);
});

test('a request that a model rejects goes to the next model, but a cancellation does not', async () => {
  const refused = setUp([{ error: new AgentError('MODEL_CONTEXT_LENGTH', 'too long') }], ['ok']);
  expect(await ask(refused.model)).toBe('ok');
  const aborted = setUp([{ error: new DOMException('x', 'AbortError') }], ['never']);
  await expect(ask(aborted.model)).rejects.toMatchObject({ name: 'AbortError' });
});

test.each([undefined, new Error('HTTP 500')])(
  'an abort during a request calls no other model: reason %o',
  async (reason) => {
    const { a, b } = setUp([{ hang: true }], ['never']);
    const controller = new AbortController();
    const agent = new ReActAgent({ name: 'x', model: a, use: [fallback([b])] });
    const call = agent.call('Hi', { signal: controller.signal });
    while (!a.requests.length) await Promise.resolve();
    controller.abort(reason);
    expect(await call).toMatchObject({ reason: 'aborted' });
    await agent.messages();
    expect(b.requests).toEqual([]);
  },
);

test('`when` decides which errors use the next model', async () => {
  const { model } = setUp([{ error: down }], ['never'], { when: (error) => error !== down });
  await expect(ask(model)).rejects.toBe(down);
});

test('`request` can change a request for another model', async () => {
  const { b, model } = setUp([{ error: down }], ['ok'], {
    request: ({ providerOptions: _theirs, ...request }, { modelId }) => ({
      ...request,
      providerOptions: { for: modelId },
    }),
  });
  await ask(model, { providerOptions: { for: 'a' } });
  expect(b.requests[0]!.providerOptions).toEqual({ for: 'b' });
});

test('fallback() has the features of the first model and the smallest window, and a model without tools gets no tools', async () => {
  const a = new ScriptedModel([{ error: down }, { error: down }], {
    features: { contextWindow: 100_000 },
  });
  const b = new ScriptedModel([{ error: down }], { features: { media: [] } });
  const c = new ScriptedModel(['ok'], { features: { tools: false, contextWindow: 8_000 } });
  const model = wrapModel(a, fallback([b, c]));
  expect(model.features).toEqual({ tools: true, media: ['image'], contextWindow: 8_000 });
  expect(wrapModel(b, fallback([b])).features).not.toHaveProperty('contextWindow');
  const tools = [{ name: 't', description: '', parameters: {} }];
  expect(await ask(model, { tools, toolChoice: 'auto' })).toBe('ok');
  expect(b.requests[0]!.tools).toBe(tools);
  expect(c.requests[0]).toMatchObject({ tools: [] });
  expect(c.requests[0]).not.toHaveProperty('toolChoice');
});

test('each model can have its own retry()', async () => {
  const sleep = async (): Promise<void> => {};
  const a = new ScriptedModel([{ error: down }, { error: down }, { error: down }]);
  const b = new ScriptedModel([{ text: 'Half ', error: down }, 'The whole']);
  const model = wrapModel(
    a,
    fallback([wrapModel(b, retry({ sleep, afterFirstDelta: true }))]),
    retry({ sleep }),
  );
  expect(await ask(model)).toBe('Half <retry>The whole');
  expect(a.requests).toHaveLength(3);
});

test('an agent continues with the other model in the same conversation with the same tools', async () => {
  const a = new ScriptedModel([
    { toolCalls: [{ name: 'look' }] },
    { text: 'I s', toolCalls: [{ name: 'look' }], error: down },
  ]);
  const b = new ScriptedModel([{ toolCalls: [{ name: 'look', id: 'b1' }] }, 'Done']);
  const agent = new ReActAgent({ name: 'x', model: a, tools: [look], use: [fallback([b])] });
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('Look')) {
    events.push(event);
    if (event.type === 'post-acting' && event.toolUse.id === 'b1') break;
  }
  expect(b.requests[0]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(b.requests[0]!.tools.map(({ name }) => name)).toEqual(['look']);
  expect(events.filter(({ type }) => type === 'step-reset')).toHaveLength(1);
  const messages = await agent.messages();
  expect(messages.map(textOf)).not.toContain('I s');
  expect(historyFaults(messages)).toEqual([]);
  for (const { messages: asked } of [...a.requests, ...b.requests])
    expect(requestFaults(asked)).toEqual([]);
});

test('events keep their order if a run changes its model', async () => {
  const { a, b } = setUp([{ thinking: 'hm', text: 'Half ', error: down }], ['The whole']);
  const agent = new ReActAgent({ name: 'x', model: a, use: [fallback([b])] });
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('Hi')) events.push(event);
  expect(orderFaults(events)).toEqual([]);
});

test.each<[unknown, unknown]>([
  [[], {}],
  ['b', {}],
  [[{}], {}],
  [[new ScriptedModel([])], { when: true }],
])('rejects fallback(%o, %o)', (models, options) => {
  expect(() => fallback(models as never, options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('output guards check the replies of every fallback model', async () => {
  const mail = 'Mail ann@example.com now.';
  const a = () => new ScriptedModel([{ error: down }]);
  const b = () => new ScriptedModel([mail]);
  const guards = outputGuards([piiRule()]);
  const agent = (extensions: readonly Middleware[]) =>
    new ReActAgent({ name: 'a', model: a(), use: [...extensions] });
  expect(() => agent([fallback([b()]), retry(), guards])).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  const guarded = wrapModel(b(), guards);
  for (const extensions of [
    [guards, fallback([b()])],
    [fallback([guarded]), guards],
  ]) {
    expect((await agent(extensions).call('Hi')).text).toBe('Mail [EMAIL] now.');
  }
});
