import { expect, test } from 'vitest';
import {
  type CallOptions,
  type ReActAgent,
  type Middleware,
  systemMessage,
  textOf,
  type Msg,
  tool,
} from '@isoloop/core';
import type { Retriever } from './search/retriever.ts';
import type { ScriptedReply } from '@isoloop/core/testing';
import { contextToken, provide } from '@isoloop/core/tool';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { recallOnce, type Recall } from './recall-once.ts';
import { retrieval } from './retrieval.ts';

const ask = tool({ name: 'ask', description: '', input: {} });

function setUp(replies: readonly ScriptedReply[], use: readonly Middleware[]) {
  const { agent, model } = scriptedAgent(replies, { systemPrompt: 'Be kind.', tools: [ask], use });
  return { agent, model };
}

const looking = (find: Recall['find'], role: 'user' | 'system' = 'user'): Middleware =>
  recallOnce({ name: 'found', messageContext: {}, role: () => role, find, report: () => {} });

const textsOf = (messages: readonly Msg[]): readonly string[] => messages.map(textOf);

test('each request of a call has the found messages before the conversation, in list order, after the call’s instructions', async () => {
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'nope' }] }, 'One.', 'Two.'],
    [
      looking(async ([input]) => `A of ${textOf(input!)}`),
      looking(async () => 'B'),
      looking(async () => 'C'),
    ],
  );
  const options: CallOptions = { instructions: [systemMessage('Be brief.')] };
  expect((await agent.call('first', options)).text).toBe('One.');
  await agent.call('second');
  const heads = model.requests.map(({ messages }) => textsOf(messages.slice(0, 6)));
  expect(heads[0]).toEqual(['Be kind.', 'Be brief.', 'A of first', 'B', 'C', 'first']);
  expect(heads[1]).toEqual(heads[0]);
  expect(heads[2]).toEqual(['Be kind.', 'A of second', 'B', 'C', 'first', '']);
  expect(textsOf(await agent.messages()).join()).not.toContain('A of');
});

test('a search gets the conversation with the input at its end, and the provided context', async () => {
  const Day = contextToken<string>('day');
  const seen: unknown[] = [];
  const search = looking(
    async (_asked, { prompt: { messages: requestMessages }, tools: { context: toolContext } }) => {
      seen.push([textsOf(requestMessages), toolContext.get(Day)]);
      return '';
    },
  );
  const { agent } = setUp(['One.', 'Two.'], [search]);
  await agent.call('1', { toolContext: [provide(Day, 'Monday')] });
  await agent.call('2', { toolContext: [provide(Day, 'Friday')] });
  expect(seen).toEqual([
    [['Be kind.', '1'], 'Monday'],
    [['Be kind.', '1', 'One.', '2'], 'Friday'],
  ]);
});

test('a call with a decision searches for the question that it continues', async () => {
  const asked: string[] = [];
  const search = looking(async (given) => {
    asked.push(...textsOf(given));
    return '';
  });
  const { agent } = setUp([{ toolCalls: [{ name: 'ask' }] }, 'Done.'], [search]);
  const [pending] = (await agent.call('go')).pending;
  await agent.call([{ toolUseId: pending!.toolUseId, type: 'result', output: 'yes' }]);
  expect(asked).toEqual(['go', 'go']);
});

test.each<[how: string, on: Middleware['on']]>([
  ['stops', { 'pre-call': ({ stop }) => stop() }],
  ['answers', { 'pre-call': ({ jumpTo }) => jumpTo('end', 'Ready.') }],
  ['rejects', { 'pre-call': ({ reject }) => reject('No.') }],
])('no search runs if a hook %s the call before its first request', async (_how, on) => {
  let searches = 0;
  const search = looking(async () => {
    searches += 1;
    return '';
  });
  const { agent, model } = setUp([], [search, { on: on! }]);
  await agent.call('go');
  expect([searches, model.requests.length]).toEqual([0, 0]);
});

const stops = {
  interrupted: (agent: ReActAgent) => void agent.interrupt(),
  suspended: (agent: ReActAgent) => void agent.interrupt({ mode: 'pause' }),
  aborted: (_agent: ReActAgent, controller: AbortController) => controller.abort(),
};

test.each(Object.keys(stops) as (keyof typeof stops)[])(
  'a call that is %s does not wait for a slow search, and keeps its input',
  async (reason) => {
    let onSearch!: (signal: AbortSignal | undefined) => void;
    const searching = new Promise<AbortSignal | undefined>((resolve) => (onSearch = resolve));
    const retriever: Retriever = {
      retrieve: (_query, options) => new Promise(() => onSearch(options?.signal)),
    };
    const { agent, model } = setUp([], [retrieval({ retriever })]);
    const controller = new AbortController();
    const result = agent.call('go', { signal: controller.signal });
    const signal = await searching;
    stops[reason](agent, controller);
    expect(signal?.aborted).toBe(true);
    expect((await result).reason).toBe(reason);
    expect(model.requests).toEqual([]);
    expect(textOf((await agent.messages())[0]!)).toBe('go');
  },
);

test('after an interrupt, no further search runs', async () => {
  let searches = 0;
  const search = looking(async () => {
    searches += 1;
    agent.interrupt();
    return '';
  });
  const { agent } = setUp([], [search, search]);
  expect((await agent.call('go')).reason).toBe('interrupted');
  expect(searches).toBe(1);
});
