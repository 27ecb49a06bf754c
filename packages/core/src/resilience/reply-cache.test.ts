import { expect, test, vi } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import { piiRule, outputGuards } from '@isoloop/guards';
import { MemoryStore } from '../memory/store/memory-store.ts';
import {
  assistantMessage,
  createMessage,
  systemMessage,
  toolMessage,
  userMessage,
} from '../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { ModelContext, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { fallback } from './fallback.ts';
import { type CacheLookup, type ReplyCacheOptions, replyCache } from './reply-cache.ts';
import {
  type CachedReply,
  type ReplyCacheStore,
  inMemoryReplies,
  storedReplies,
} from './cache-stores.ts';
import { wrapModel } from '../model/wrap-model.ts';

const ask = (text = 'Hi', more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [userMessage(text)],
  tools: [],
  temperature: 0,
  ...more,
});

function setUp(replies: readonly ScriptedReply[], options: ReplyCacheOptions = {}) {
  const scripted = new ScriptedModel(replies);
  const found: CacheLookup['found'][] = [];
  const model = wrapModel(
    scripted,
    replyCache({ onLookup: (lookup) => found.push(lookup.found), ...options }),
  );
  const read = async (
    request: ModelRequest,
    context: ModelContext = { signal: new AbortController().signal },
  ) => {
    const all: ModelDelta[] = [];
    for await (const deltas of model.stream(request, context)) all.push(...deltas);
    return all;
  };
  const say = async (request: ModelRequest, context?: ModelContext) =>
    (await read(request, context))
      .map((delta) => (delta.type === 'text' ? delta.delta : ''))
      .join('');
  return { scripted, found, model, read, say };
}

test('the second equal request gets the cached reply with a usage of zero', async () => {
  const { scripted, found, read } = setUp([{ thinking: 'hm so ', text: 'Hello to you.' }]);
  const first = await read(ask());
  expect(first.length).toBeGreaterThan(4);
  expect(await read(ask())).toEqual([
    { type: 'thinking', id: 'thinking', delta: 'hm so ' },
    { type: 'text', id: 'text', delta: 'Hello to you.' },
    {
      type: 'finish',
      reason: 'stop',
      usage: { inputTokens: 0, outputTokens: 0 },
      metadata: { cached: true },
    },
  ]);
  expect(found).toEqual(['nothing', 'exact']);
  expect(scripted.requests).toHaveLength(1);
});

test('agents share cached replies but keep their own data', async () => {
  const model = new ScriptedModel(['Hello.']);
  const cache = vi.fn<(lookup: CacheLookup) => void>();
  const extensions = [replyCache({ onLookup: cache })];
  const agents = ['s1', 's2'].map(
    (sessionId) =>
      new ReActAgent({
        name: 'a',
        systemPrompt: 'Be kind.',
        model,
        sessionId,
        userId: 'u',
        use: [...extensions],
        generate: { temperature: 0 },
      }),
  );
  const results = [];
  for (const agent of agents) results.push(await agent.call('Hi'));
  expect(results.map(({ text }) => text)).toEqual(['Hello.', 'Hello.']);
  expect(results.map(({ usage }) => usage)).toEqual([
    { inputTokens: 10, outputTokens: 5 },
    { inputTokens: 0, outputTokens: 0 },
  ]);
  expect(results.map(({ message }) => message.metadata?.['cached'])).toEqual([undefined, true]);
  expect(
    cache.mock.calls.map(([{ found, modelId, run }]) => [
      found,
      modelId,
      run?.sessionId,
      run?.userId,
    ]),
  ).toEqual([
    ['nothing', 'scripted', 's1', 'u'],
    ['exact', 'scripted', 's2', 'u'],
  ]);
  model.assertDone();
});

test('replyCache() caches the answer after tool calls with any ids, but not the tool calls', async () => {
  const look = vi.fn(() => 'sunny');
  const weather = tool({
    name: 'weather',
    description: '',
    input: { type: 'object' },
    execute: look,
  });
  const call = (id: string): ScriptedReply => ({ toolCalls: [{ name: 'weather', id }] });
  const model = new ScriptedModel([call('c1'), 'It is sunny.', call('c2')]);
  const extensions = [replyCache()];
  for (let n = 0; n < 2; n += 1) {
    const agent = new ReActAgent({
      name: 'a',
      model,
      tools: [weather],
      use: [...extensions],
      generate: { temperature: 0 },
    });
    expect(await agent.call('Weather?')).toMatchObject({
      text: 'It is sunny.',
      toolsUsed: ['weather'],
    });
  }
  model.assertDone();
  expect(look).toHaveBeenCalledTimes(2);
});

test('with `toolCalls: true`, tool calls are cached too, and get a new id if the session already has the old id', async () => {
  const step = tool({
    name: 'step',
    description: '',
    input: { type: 'object' },
    execute: () => 'ok',
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'step', id: 'c1' }] }, 'done']);
  const extensions = [replyCache({ toolCalls: true })];
  for (let n = 0; n < 2; n += 1) {
    const agent = new ReActAgent({
      name: 'a',
      model,
      tools: [step],
      use: [...extensions],
      generate: { temperature: 0 },
    });
    expect(await agent.call('go')).toMatchObject({ text: 'done', toolsUsed: ['step'] });
  }
  model.assertDone();
});

const parameters = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } };
const swapped = { properties: { b: { type: 'string' }, a: { type: 'string' } }, type: 'object' };
const tools = [
  { name: 'x', description: 'X', parameters },
  { name: 'y', description: 'Y', parameters },
];
const image = (data: string) =>
  [{ type: 'image', source: { type: 'base64', mediaType: 'image/png', data } }] as const;

test.each<[what: string, first: ModelRequest, second: ModelRequest, isSame: boolean]>([
  [
    'ids and dates',
    ask(),
    {
      ...ask(),
      messages: [createMessage('user', 'Hi', { id: 'other', metadata: { runId: 'r' } })],
    },
    true,
  ],
  [
    'the order of tools and keys',
    ask('Hi', { tools }),
    ask('Hi', { tools: [tools[1]!, { ...tools[0]!, parameters: swapped }] }),
    true,
  ],
  ['another text', ask(), ask('Ho'), false],
  ['another role', ask(), { ...ask(), messages: [systemMessage('Hi')] }, false],
  ['another name', ask(), { ...ask(), messages: [userMessage('Hi', { name: 'Ann' })] }, false],
  [
    'another image',
    { ...ask(), messages: [userMessage(image('AAAA'))] },
    { ...ask(), messages: [userMessage(image('AAAB'))] },
    false,
  ],
  [
    'one text or two',
    { ...ask(), messages: [userMessage('HiHo')] },
    { ...ask(), messages: [userMessage('Hi'), userMessage('Ho')] },
    false,
  ],
  ['another tool', ask('Hi', { tools }), ask('Hi', { tools: [tools[0]!] }), false],
  [
    'another schema',
    ask('Hi', { tools }),
    ask('Hi', { tools: [tools[0]!, { ...tools[1]!, parameters: {} }] }),
    false,
  ],
  ['another option', ask(), ask('Hi', { maxTokens: 5 }), false],
  [
    'another provider option',
    ask('Hi', { providerOptions: { seed: 1 } }),
    ask('Hi', { providerOptions: { seed: 2 } }),
    false,
  ],
  [
    'another response schema',
    ask('Hi', { responseSchema: {} }),
    ask('Hi', { responseSchema: { type: 'object' } }),
    false,
  ],
])(
  'requests that differ in %s get the same or another reply, as expected',
  async (_what, first, second, isSame) => {
    const { say } = setUp(['one', 'two']);
    await say(first);
    expect(await say(second)).toBe(isSame ? 'one' : 'two');
  },
);

test('requests with swapped results of two tool calls are different', async () => {
  const { say } = setUp(['one', 'two']);
  const called = (id: string) => ({ type: 'tool_use', id, name: 'x', input: {} }) as const;
  const result = (toolUseId: string, output: string) =>
    ({ type: 'tool_result', toolUseId, name: 'x', output, state: 'success' }) as const;
  const history = (a: string, b: string) => [
    userMessage('Hi'),
    assistantMessage([called('c1'), called('c2')]),
    toolMessage(result(a, 'A')),
    toolMessage(result(b, 'B')),
  ];
  expect(await say(ask('', { messages: history('c1', 'c2') }))).toBe('one');
  expect(await say(ask('', { messages: history('c2', 'c1') }))).toBe('two');
});

test('each model has its own cache entries', async () => {
  const cache = replyCache();
  const read = async (provider: ScriptedModel) => {
    const texts: string[] = [];
    for await (const deltas of wrapModel(provider, cache).stream(ask(), {
      signal: new AbortController().signal,
    })) {
      for (const delta of deltas) if (delta.type === 'text') texts.push(delta.delta);
    }
    return texts.join('');
  };
  expect(await read(new ScriptedModel(['one'], { modelId: 'a' }))).toBe('one');
  expect(await read(new ScriptedModel(['two'], { modelId: 'b' }))).toBe('two');
});

test.each<[temperature: number | undefined, max: number | undefined, isLookedUp: boolean]>([
  [0, undefined, true],
  [0.1, undefined, false],
  [undefined, undefined, false],
  [0.3, 0.3, true],
  [undefined, 2, false],
  [undefined, Infinity, true],
])(
  'replyCache() applies only up to `maxTemperature`: temperature %s, maximum %s',
  async (temperature, maxTemperature, isLookedUp) => {
    const { say, found } = setUp(
      ['one', 'two'],
      maxTemperature === undefined ? {} : { maxTemperature },
    );
    const { temperature: _none, ...request } = ask();
    const asked = temperature === undefined ? request : { ...request, temperature };
    await say(asked);
    expect(await say(asked)).toBe(isLookedUp ? 'one' : 'two');
    expect(found).toEqual(isLookedUp ? ['nothing', 'exact'] : []);
  },
);

const finish = (reason: string): ModelDelta => ({ type: 'finish', reason });
const text = (delta: string): ModelDelta => ({ type: 'text', id: 't', delta });

test.each<[what: string, reply: ScriptedReply]>([
  ['failed', { text: 'Half ', error: new AgentError('MODEL_SERVER', 'down') }],
  ['was cut at its length', { deltas: [[text('Half')], [finish('length')]] }],
  ['was filtered', { deltas: [[text('Half')], [finish('content_filter')]] }],
  ['ended without a reason', { deltas: [[text('Half')]] }],
  ['ended for an unknown reason', { deltas: [[text('Half')], [finish('other')]] }],
  ['is empty', { deltas: [[finish('stop')]] }],
  ['contains only thinking', { thinking: 'hm' }],
  ['calls a tool', { text: 'Let me see.', toolCalls: [{ name: 'x' }] }],
])('a reply that %s is not cached', async (_what, reply) => {
  const { scripted, say } = setUp([reply, 'whole']);
  await say(ask()).catch(() => {});
  expect(await say(ask())).toBe('whole');
  scripted.assertDone();
});

test('a reply that was aborted or whose reader left is not cached', async () => {
  const { model, scripted, say } = setUp(['one two three', { text: 'Half ', hang: true }, 'whole']);
  for await (const _deltas of model.stream(ask(), { signal: new AbortController().signal })) break;
  const abort = new AbortController();
  for (const iterator = model.stream(ask(), { signal: abort.signal })[Symbol.asyncIterator](); ;) {
    const next = await iterator.next().catch(() => undefined);
    if (!next || next.done) break;
    abort.abort();
  }
  expect(await say(ask())).toBe('whole');
  scripted.assertDone();
});

test('of a reply that restarted, only the final text is cached', async () => {
  const { say, read } = setUp([
    {
      deltas: [
        [text('Wrong')],
        [{ type: 'reset', reason: 'retry' }, text('Right')],
        [finish('stop')],
      ],
    },
  ]);
  await say(ask());
  expect(await read(ask())).toMatchObject([text('Right'), { type: 'finish' }]);
});

test('the answer of a fallback model is not cached for the model that failed', async () => {
  const first = new ScriptedModel([{ error: new AgentError('MODEL_SERVER', 'down') }, 'Mine.'], {
    modelId: 'first',
  });
  const second = new ScriptedModel(['Theirs.'], { modelId: 'second' });
  const model = wrapModel(first, replyCache(), fallback([second]));
  const texts: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    let said = '';
    for await (const deltas of model.stream(ask(), { signal: new AbortController().signal })) {
      for (const delta of deltas) if (delta.type === 'text') said += delta.delta;
    }
    texts.push(said);
  }
  expect(texts).toEqual(['Theirs.', 'Mine.', 'Mine.']);
});

test('rejected replies are not cached, and replies that a guard changed are cached as changed', async () => {
  const kept: CachedReply[] = [];
  const store: ReplyCacheStore = {
    get: (key) => kept.find((reply) => reply.key === key),
    set: (reply) => void kept.push(reply),
  };
  const no = {
    name: 'no',
    review: (said: string) =>
      /bad/.test(said) ? ({ category: 'OFF_TOPIC' } as const) : { text: said },
  };
  const model = new ScriptedModel(['bad', 'Write to ann@example.com.']);
  const extensions = [replyCache({ store }), outputGuards([no, piiRule()])];
  const call = () =>
    new ReActAgent({ name: 'a', model, use: [...extensions], generate: { temperature: 0 } }).call(
      'Hi',
    );
  expect((await call()).reason).toBe('rejected');
  expect(kept).toEqual([]);
  const { text: masked } = await call();
  expect(masked).not.toContain('ann@');
  expect(await call()).toMatchObject({ text: masked });
  expect(JSON.stringify(kept)).not.toContain('ann@');
});

test('a cached reply is used until it expires by the given clock', async () => {
  let time = 1000;
  const { say, found } = setUp(['one', 'two'], { ttlMs: 50, now: () => time });
  await say(ask());
  time = 1049;
  expect(await say(ask())).toBe('one');
  time = 1050;
  expect(await say(ask())).toBe('two');
  expect(await say(ask())).toBe('two');
  expect(found).toEqual(['nothing', 'exact', 'nothing', 'exact']);
});

test('above `maxEntries`, the entry that was not used for the longest time is removed', async () => {
  const { say } = setUp(['a1', 'b1', 'c1', 'b2'], { store: inMemoryReplies({ maxEntries: 2 }) });
  expect([
    await say(ask('a')),
    await say(ask('b')),
    await say(ask('a')),
    await say(ask('c')),
    await say(ask('a')),
  ]).toEqual(['a1', 'b1', 'a1', 'c1', 'a1']);
  expect(await say(ask('b'))).toBe('b2');
});

test('nothing is cached with `maxEntries: 0` or `ttlMs: 0`', async () => {
  for (const options of [{ store: inMemoryReplies({ maxEntries: 0 }) }, { ttlMs: 0 }]) {
    const { say } = setUp(['one', 'two'], options);
    await say(ask());
    expect(await say(ask())).toBe('two');
  }
});

test('storedReplies() can keep replies in a key-value store without expiry', async () => {
  const values = new MemoryStore();
  for (const replies of [['one'], []]) {
    const { say } = setUp(replies, { store: storedReplies(values), ttlMs: Infinity });
    expect(await say(ask())).toBe('one');
  }
  expect((await values.keys('reply:')).every((key) => /^reply:[\da-f]{64}$/.test(key))).toBe(true);
});

test('a custom store may return the reply to a similar request', async () => {
  let kept: CachedReply | undefined;
  const store: ReplyCacheStore = { get: () => kept, set: (reply) => void (kept = reply) };
  const { say, found } = setUp(['Hello.'], { store });
  await say(ask('Hi!'));
  expect(await say(ask('Hi'))).toBe('Hello.');
  expect(found).toEqual(['nothing', 'semantic']);
});

test('`scope` separates users, and a request without a scope is not cached', async () => {
  const { say, found } = setUp(['one', 'two', 'three'], { scope: (run) => run?.userId });
  const { signal } = new AbortController();
  const as = (userId: string): ModelContext => ({
    signal,
    run: { runId: 'r', sessionId: 's', userId, agentPath: ['a'] },
  });
  expect([
    await say(ask(), as('ann')),
    await say(ask(), as('bob')),
    await say(ask(), as('ann')),
  ]).toEqual(['one', 'two', 'one']);
  expect(await say(ask())).toBe('three');
  expect(found).toEqual(['nothing', 'nothing', 'exact']);
});

const whole: CachedReply = { key: 'k', expiresAt: Infinity, deltas: [text('old'), finish('stop')] };

test.each<[what: string, store: ReplyCacheStore]>([
  [
    'throws',
    { get: () => Promise.reject(new Error('lost')), set: () => Promise.reject(new Error('full')) },
  ],
  ['returns a text', { get: () => 'old' as never, set: () => {} }],
  ['returns no deltas', { get: () => ({ ...whole, deltas: undefined }) as never, set: () => {} }],
  [
    'returns a reply without its end',
    { get: () => ({ ...whole, deltas: [text('old')] }), set: () => {} },
  ],
  ['returns an empty reply', { get: () => ({ ...whole, deltas: [] }), set: () => {} }],
  [
    'holds no JSON',
    storedReplies({ ...new MemoryStore(), get: async () => '{', set: async () => {} } as never),
  ],
])('a store that %s does not fail a request', async (_what, store) => {
  const errors: unknown[] = [];
  const { say, found } = setUp(['new'], { store, onError: (error) => errors.push(error) });
  expect(await say(ask())).toBe('new');
  expect(found).toEqual(['nothing']);
  expect(errors.length).toBeGreaterThan(0);
});

test('provider options without a JSON form, or a `scope` that throws, bypass the cache', async () => {
  const errors: unknown[] = [];
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  const onError = (error: unknown): void => void errors.push(error);
  expect(await setUp(['one'], { onError }).say(ask('Hi', { providerOptions: loop as never }))).toBe(
    'one',
  );
  const scope = (): never => {
    throw new Error('who?');
  };
  expect(await setUp(['one'], { onError, scope }).say(ask())).toBe('one');
  expect(errors).toHaveLength(2);
});

test('an abort ends the wait for a cache store that hangs', async () => {
  const { say, scripted } = setUp(['never'], {
    store: { get: () => new Promise(() => {}), set: () => {} },
  });
  const abort = new AbortController();
  const said = say(ask(), { signal: abort.signal });
  abort.abort(new AgentError('ABORTED', 'enough'));
  await expect(said).rejects.toMatchObject({ code: 'ABORTED' });
  expect(scripted.requests).toEqual([]);
});

test('replyCache() works without crypto.subtle, as on a page without HTTPS', async () => {
  vi.stubGlobal('crypto', { randomUUID: () => 'id' });
  try {
    const { say } = setUp(['one', 'two']);
    expect([await say(ask()), await say(ask()), await say(ask('Ho'))]).toEqual([
      'one',
      'one',
      'two',
    ]);
  } finally {
    vi.unstubAllGlobals();
  }
});

test.each([
  null,
  5,
  { store: {} },
  { store: { get: () => undefined } },
  { ttlMs: -1 },
  { ttlMs: NaN },
  { maxTemperature: '0' },
  { toolCalls: 'yes' },
  { scope: 'u' },
  { onLookup: 1 },
  { onError: 1 },
  { now: 0 },
])('replyCache() rejects the options %j', (options) => {
  expect(() => replyCache(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test.each([() => inMemoryReplies({ maxEntries: -1 }), () => storedReplies({} as never)])(
  'inMemoryReplies() and storedReplies() reject invalid options',
  (make) => {
    expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
  },
);
