import { expect, test, vi } from 'vitest';
import type { AgentError } from '../../error/agent-error.ts';
import { toolResultsOf, type ContentBlock } from '../../message/msg.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import { tool, type ToolOutput } from '../../tool/tool.ts';
import type { AgentOptions } from '../../react-agent/agent-options.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { evictLargeResults, type EvictLargeResultsOptions } from './evict-large-results.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1} of the report`).join('\n');
const look: ScriptedReply = { toolCalls: [{ name: 'look', id: 'big' }] };
const read = (input: object): ScriptedReply => ({
  toolCalls: [{ name: 'read_result', input: { id: 'big', ...input } as never }],
});

function setUp(
  output: ToolOutput,
  replies: readonly ScriptedReply[],
  options: Partial<EvictLargeResultsOptions> = {},
  more: Partial<AgentOptions> = {},
) {
  const store = options.store ?? new MemoryStore();
  const model = new ScriptedModel(replies);
  const evicting = evictLargeResults({ store, ...options });
  const tools = [
    tool({ name: 'look', description: '', input: { type: 'object' }, execute: () => output }),
  ];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    sessionId: 's',
    ...more,
    use: [evicting, ...(more.use ?? [])],
  });
  const outputs = async (): Promise<readonly (string | readonly ContentBlock[])[]> => {
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    return messages.flatMap(toolResultsOf).map((result) => result.output);
  };
  return { store, agent, evicting, model, outputs };
}

test('evictLargeResults() stores a result of more than 20,000 tokens elsewhere and keeps its first ten lines', async () => {
  const text = numbered(10_000);
  expect(estimateTokens(text)).toBeGreaterThan(20_000);
  const { agent, outputs, store } = setUp(text, [look, 'done']);
  await agent.call('Go');
  const lines = String((await outputs())[0]).split('\n');
  expect(lines.slice(0, 10)).toEqual(numbered(10).split('\n'));
  expect(lines.slice(10)).toEqual([
    '[This result is too long to show. It has 10000 lines; these are the first 10. Read more with read_result, id "big".]',
  ]);
  expect(await store.keys('result:')).toEqual(['result:s::big', 'result:s::big:0']);
});

test('shorter results and those of excluded tools are kept', async () => {
  const short = numbered(1_000);
  const small = setUp(short, [look, 'done']);
  await small.agent.call('Go');
  expect(await small.outputs()).toEqual([short]);
  const long = numbered(10_000);
  const spared = setUp(long, [look, 'done'], { exclude: ['look'] });
  await spared.agent.call('Go');
  expect(await spared.outputs()).toEqual([long]);
});

test('read_result returns pages, searches lines, and says where to continue', async () => {
  const { agent, outputs } = setUp(
    numbered(10_000),
    [
      look,
      read({}),
      read({ from: 9_999, lines: 5 }),
      read({ query: 'LINE 77 ' }),
      read({ query: 'ｌｉｎｅ ９９', from: 990, lines: 2 }),
      read({ query: 'nowhere' }),
      read({ from: 20, lines: 1, query: '' }),
      read({ from: null, lines: 1, query: null }),
      'done',
    ],
    {},
    { limits: { iterations: 20 } },
  );
  await agent.call('Go');
  const [, page, end, found, more, nothing, blank, asNull] = (await outputs()).map((output) =>
    String(output).split('\n'),
  );
  expect(page).toHaveLength(101);
  expect([page![0], page![100]]).toEqual([
    '1: line 1 of the report',
    '[10000 lines. Continue with from: 101.]',
  ]);
  expect(end).toEqual([
    '9999: line 9999 of the report',
    '10000: line 10000 of the report',
    '[10000 lines. No more after these.]',
  ]);
  expect(found).toEqual([
    '77: line 77 of the report',
    '[1 of 10000 lines contain it. No more after these.]',
  ]);
  expect(more).toEqual([
    '990: line 990 of the report',
    '991: line 991 of the report',
    '[111 of 10000 lines contain it. Continue with from: 992.]',
  ]);
  expect(nothing).toEqual(['[0 of 10000 lines contain it. No more after these.]']);
  expect(blank![0]).toBe('20: line 20 of the report');
  expect(asNull![0]).toBe('1: line 1 of the report');
});

test.each([
  [{ id: 'other' }, 'Error: There is no result "other".'],
  [{ from: 0 }, 'Error: read_result: from must be a whole number of 1 or more; got 0.'],
  [
    { lines: 'many' },
    'Error: read_result: lines must be a whole number of 1 or more; got a string.',
  ],
  [{ query: 7 }, 'Error: read_result: query must be a string; got 7.'],
  [{ id: null }, 'Error: read_result: id must be a string; got nothing.'],
])('read_result handles the input %o', async (input, message) => {
  const { agent, outputs } = setUp(numbered(10_000), [look, read(input), 'done']);
  await agent.call('Go');
  expect((await outputs())[1]).toBe(message);
});

test('a long line is split into pages but not inside a surrogate pair, and a search finds text across pages', async () => {
  const text = `${'x'.repeat(995)}needle${'界'.repeat(3_000)}${'🙂'.repeat(1_500)}`;
  const { agent, outputs } = setUp(
    text,
    [look, read({ query: 'needle' }), read({ lines: 100 }), 'done'],
    { maxTokens: 3_000 },
  );
  await agent.call('Go');
  const [short, found, all] = (await outputs()).map(String);
  expect(short!.split('\n')[0]).toBe(text.slice(0, 1_000));
  expect(found).toContain(`1: ${text.slice(0, 1_000)}`);
  expect(found).toContain('[1 of 6 lines contain it');
  expect(all).not.toMatch(/\p{Cs}/u);
  expect(estimateTokens(all!)).toBeLessThan(3_000);
});

test('the shortened result never exceeds `maxTokens` by more than its notice', async () => {
  const { agent, outputs } = setUp('word '.repeat(1_000), [look, 'done'], { maxTokens: 100 });
  await agent.call('Go');
  expect(estimateTokens(String((await outputs())[0]))).toBeLessThan(140);
});

test('images in a result are kept, and its texts are evicted', async () => {
  const image: ContentBlock = {
    type: 'image',
    source: { type: 'url', url: 'https://x.test/a.png' },
  };
  const content: ContentBlock[] = [
    { type: 'text', text: numbered(5_000) },
    image,
    { type: 'text', text: numbered(5_000) },
  ];
  const { agent, outputs } = setUp({ content }, [look, read({ from: 10_000 }), 'done']);
  await agent.call('Go');
  const [short, end] = await outputs();
  expect(short).toEqual([{ type: 'text', text: expect.stringContaining('10000 lines') }, image]);
  expect(end).toContain('10000: line 5000 of the report');
});

test('parallel results are stored separately, and post-acting events contain the shortened results', async () => {
  const calls: ScriptedReply = { toolCalls: ['one', 'two'].map((id) => ({ name: 'look', id })) };
  const { agent, store } = setUp(numbered(10_000), [calls, 'done']);
  const seen: unknown[] = [];
  for await (const event of agent.stream('Go'))
    if (event.type === 'post-acting') seen.push(String(event.result.output).slice(-5));
  expect(seen).toEqual(['one"', 'two"'].map((id) => `${id}.]`.slice(-5)));
  expect(await store.keys('result:')).toHaveLength(4);
});

test('another process with the same store and session can read a result, but another session cannot', async () => {
  const { agent, store } = setUp(numbered(10_000), [look, 'done']);
  await agent.call('Go');
  const later = setUp('', [read({ from: 5, lines: 1 }), 'done'], { store });
  await later.agent.call('Go on');
  expect(String((await later.outputs())[0])).toContain('5: line 5 of the report');
  const stranger = setUp('', [read({}), 'done'], { store }, { sessionId: 's:big' });
  await stranger.agent.call('Go');
  expect(await stranger.outputs()).toEqual(['Error: There is no result "big".']);
});

test('a result in another format is refused', async () => {
  const store = new MemoryStore();
  await store.set('result:s::big', JSON.stringify({ v: 1, text: 'old' }));
  const { agent, outputs } = setUp('short', [look, read({}), 'done'], { store });
  await agent.call('Go');
  expect((await outputs())[1]).toContain('has another format');
});

test('a text that is larger than one value is split, and deleteSession() deletes all parts', async () => {
  const store = new MemoryStore({ maxValueBytes: 50_000 });
  const other = setUp(numbered(10_000), [look, 'done'], { store }, { sessionId: 'other' });
  await other.agent.call('Go');
  const { agent, evicting, outputs } = setUp(
    numbered(10_000),
    [look, read({ query: 'line 9876 ' }), 'done', read({}), 'done'],
    { store },
  );
  await agent.call('Go');
  expect((await outputs())[1]).toContain('9876: line 9876');
  expect((await store.keys('result:s:')).length).toBeGreaterThan(3);
  await evicting.deleteSession('s');
  expect(await store.keys('result:s:')).toEqual([]);
  expect(await store.keys('result:other:')).not.toEqual([]);
  await agent.call('Read it');
  expect((await outputs())[2]).toBe('Error: There is no result "big".');
});

test('if the store fails, the result stays complete, and `onError` gets the error', async () => {
  const store = new MemoryStore();
  vi.spyOn(store, 'setMany').mockRejectedValue(new Error('disk full'));
  const onError = vi.fn<(error: AgentError) => void>();
  const text = numbered(10_000);
  const { agent, outputs } = setUp(text, [look, 'done'], { store, onError });
  await agent.call('Go');
  expect(await outputs()).toEqual([text]);
  expect(onError.mock.calls).toEqual([
    [expect.objectContaining({ code: 'STORAGE_FAILED', message: 'disk full' })],
  ]);
});

test('a result that the caller provides is evicted too', async () => {
  const external = tool({ name: 'look', description: '', input: { type: 'object' } });
  const { agent, outputs } = setUp('', [look, 'done'], {}, { tools: [external] });
  await agent.call('Go');
  await agent.call([{ toolUseId: 'big', type: 'result', output: numbered(10_000) }]);
  expect(String((await outputs())[0])).toContain('Read more with read_result');
});

test.each([
  {},
  { store: {} },
  { maxTokens: -1 },
  { headLines: 'ten' },
  { headLines: 1.5 },
  { exclude: [1] },
  { exclude: 'look' },
  { profile: 'arc' },
])('evictLargeResults() rejects the options %o', (options) => {
  const given =
    Object.keys(options).length && !('store' in options)
      ? { store: new MemoryStore(), ...options }
      : options;
  expect(() => evictLargeResults(given as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('two users with one session id in a shared store keep their own results', async () => {
  const store = new MemoryStore();
  const replies = [look, read({ query: 'secret' }), 'done'];
  const ann = setUp(`Ann's secret\n${numbered(10_000)}`, replies, { store }, { userId: 'ann' });
  await ann.agent.call('Go');
  const bob = setUp(`Bob's secret\n${numbered(10_000)}`, replies, { store }, { userId: 'bob' });
  await bob.agent.call('Go');
  expect((await bob.outputs())[1]).toContain("Bob's secret");
  const reading = [read({ query: 'secret' }), 'done'];
  const later = setUp('', reading, { store }, { userId: 'ann' });
  await later.agent.call('Go');
  expect((await later.outputs())[0]).toContain("Ann's secret");
  await ann.evicting.deleteSession('s', 'ann');
  expect(await store.keys('result:')).toEqual(['result:s:bob:big', 'result:s:bob:big:0']);
  await bob.evicting.deleteSession('s');
  expect(await store.keys('result:')).toEqual([]);
});
