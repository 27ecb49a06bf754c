import { expect, test } from 'vitest';
import { ReActAgent, type ChatModel, type ModelDelta, type Middleware } from '@isoloop/core';
import { springAiAlibaba } from '@isoloop/presets';
import { ScriptedModel } from '@isoloop/core/testing';
import { look } from '../../support/plain-tools.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

const features = { tools: true, media: [] } as const;
const about = { provider: 'p', modelId: 'm', features };

/** A model that calls a tool in each reply, and never waits for real I/O. */
const restless: ChatModel = {
  ...about,
  async *stream() {
    yield [{ type: 'tool-input', index: 0, name: 'look', delta: '{}' }];
    yield [{ type: 'finish', reason: 'tool_calls' }];
  },
};

/** A model whose reply never ends. */
const endless: ChatModel = {
  ...about,
  async *stream(): AsyncGenerator<readonly ModelDelta[]> {
    for (;;) yield [{ type: 'thinking', id: 't', delta: '' }];
  },
};

const again: Middleware = { on: { 'pre-reasoning': ({ jumpTo }) => jumpTo('model') } };
const swallowing: Middleware = {
  wrapModel: (next) => ({
    ...next,
    async *stream(request, context) {
      for await (const batch of next.stream(request, context)) if (batch.length > 1) yield batch;
    },
  }),
};

const agents = {
  'a model and tools without I/O, under a preset without an iteration limit': () =>
    new ReActAgent({ name: 'a', model: restless, tools: [look], use: [springAiAlibaba()] }),
  'a model with an endless reply': () => new ReActAgent({ name: 'a', model: endless }),
  'a wrapper that swallows an endless reply': () =>
    new ReActAgent({ name: 'a', model: endless, use: [swallowing] }),
  'a hook that always jumps': () =>
    new ReActAgent({
      name: 'a',
      model: restless,
      tools: [look],
      limits: { iterations: Infinity },
      use: [again],
    }),
};

test.for(Object.entries(agents))(
  'timers and aborts work during a call with %s',
  async ([, make]) => {
    const controller = new AbortController();
    let fired = 0;
    setTimeout(() => (fired += 1));
    setTimeout(() => controller.abort(), 5);
    const result = await make().call('go', { signal: controller.signal });
    expect(result.reason).toBe('aborted');
    expect(fired).toBe(1);
  },
);

test('`limits.timeoutMs` ends a run without I/O, even if the clock does not advance', async () => {
  const agent = new ReActAgent({
    name: 'a',
    model: restless,
    tools: [look],
    monotonicNow: () => 0,
    limits: { iterations: Infinity, timeoutMs: 5 },
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'CALL_TIMEOUT' });
});

test('an abort ends a call even if all its hooks hang', async () => {
  const controller = new AbortController();
  let reach = (): void => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const model = new ScriptedModel(['first']);
  const hang = (): Promise<void> => {
    reach();
    return new Promise(() => {});
  };
  const agent = new ReActAgent({ name: 'a', model, use: [{ on: { '*': hang } }] });
  const call = agent.call('go', { signal: controller.signal });
  await reached;
  controller.abort();
  expect(await call).toMatchObject({ reason: 'aborted' });
  expect(agent.busy).toBe(false);
});

test('a run without I/O continues while a test replaces the timers', async () => {
  fakeClock();
  let time = 0;
  const agent = new ReActAgent({
    name: 'a',
    model: restless,
    tools: [look],
    monotonicNow: () => (time += 1000),
    limits: { iterations: 50 },
  });
  expect((await agent.call('go')).reason).toBe('max-iterations');
});
