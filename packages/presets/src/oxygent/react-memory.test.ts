import { expect, test } from 'vitest';
import {
  type Middleware,
  AgentError,
  userMessage,
  textOf,
  type Msg,
  tool,
  ReActAgent,
  type AgentOptions,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { calls, eventsOf } from '@test/support/scripted-agent.ts';
import { agentTool } from '@isoloop/core/several';
import { parallelIds } from './parallel-ids.ts';
import { reactMemory } from './react-memory.ts';
import { structured } from '@isoloop/core/output';

const input = { type: 'object' } as const;
const look = tool({
  name: 'look',
  description: '',
  input,
  execute: (_, { emit }) => {
    emit('looking');
    return 'seen';
  },
});
const ask = tool({ name: 'ask', description: '', input });

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  const extensions = [reactMemory(), parallelIds()];
  return {
    model,
    agent: new ReActAgent({
      name: 'a',
      model,
      tools: [look, ask],
      ...options,
      use: [...extensions, ...(options.use ?? [])],
    }),
  };
}

const kinds = (steps: readonly Msg[] | undefined) =>
  steps?.map(({ role, content }) => `${role} ${content.map(({ type }) => type).join('+')}`);

const round = ['assistant tool_use+tool_use', 'tool tool_result', 'tool tool_result'];

test('`reactMemory` of the result and of run-end contains the steps of this call only', async () => {
  const { agent } = setUp([
    calls('look'),
    'One.',
    calls('look', 'look'),
    calls('look', 'look'),
    'Two.',
    'Three.',
  ]);
  expect(kinds((await agent.call('first')).reactMemory)).toEqual([
    'assistant tool_use',
    'tool tool_result',
  ]);
  const stream = agent.stream('second');
  const events = await eventsOf(stream);
  const result = await stream.result;
  expect(kinds(result.reactMemory)).toEqual([...round, ...round]);
  expect(events.at(-1)).toMatchObject({
    type: 'run-end',
    result: { reactMemory: result.reactMemory, text: 'Two.' },
  });
  expect(await agent.call('third')).toMatchObject({ reactMemory: [], text: 'Three.' });
});

test('`reactMemory` of a suspended call contains its open tool calls, and that of the resumed call also contains earlier steps', async () => {
  const { agent } = setUp([calls('look', 'ask'), 'Done.']);
  const waiting = await agent.call([userMessage('one'), userMessage('two')]);
  expect(kinds(waiting.reactMemory)).toEqual(round.slice(0, 2));
  const done = await agent.call([
    { type: 'result', toolUseId: waiting.pending[0]!.toolUseId, output: 'told' },
  ]);
  expect(kinds(done.reactMemory)).toEqual(round);
});

test('`reactMemory` of an interrupted call contains the partial text; aborted and failed calls have `reactMemory` too', async () => {
  const { agent } = setUp([
    { text: 'one two' },
    calls('look'),
    { error: new Error('down') },
    { hang: true },
  ]);
  const stop = agent.addHook({ on: { 'reasoning-chunk': () => void agent.interrupt('Stopped.') } });
  expect((await agent.call('go')).reactMemory?.map(textOf)).toEqual(['one ']);
  stop();
  const failed = await agent.call('go', { throwOnError: false });
  expect([failed.reason, kinds(failed.reactMemory)]).toEqual([
    'error',
    ['assistant tool_use', 'tool tool_result'],
  ]);
  const stream = agent.stream('go');
  const events = stream[Symbol.asyncIterator]();
  while ((await events.next()).value?.type !== 'pre-reasoning');
  stream.cancel();
  expect(await stream.result).toMatchObject({ reason: 'aborted', reactMemory: [] });
});

test('`reactMemory` of a call that a guard rejects is empty, even if earlier calls have steps', async () => {
  let refuses = false;
  const guard: Middleware = {
    wrapInput: async (given, next) => {
      if (refuses) throw new AgentError('GUARD_REJECTED', 'No.');
      return next(given);
    },
  };
  const { agent } = setUp([calls('look'), 'One.'], { use: [guard] });
  await agent.call('first');
  refuses = true;
  expect(await agent.call('second')).toMatchObject({ reason: 'rejected', reactMemory: [] });
});

test('with structured output, `reactMemory` does not contain the messages that requested the value', async () => {
  const value = { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] };
  const { agent } = setUp([calls('look'), 'So.', value]);
  const schema = { type: 'object', properties: { n: { type: 'number' } } } as const;
  const result = await agent.call('count', { output: structured(schema) });
  expect([result.output, kinds(result.reactMemory)]).toEqual([
    { n: 1 },
    ['assistant tool_use', 'tool tool_result'],
  ]);
});

test('tool events of one reply have the same `parallelId`, and those of the next reply have another one, also after a resume', async () => {
  const { agent } = setUp([calls('look', 'look'), calls('look', 'ask'), 'Done.']);
  const first = await eventsOf(agent.stream('go'));
  const acting = first.flatMap((event) =>
    'parallelId' in event ? `${event.type} ${event.parallelId}` : [],
  );
  const [one, two] = (await agent.messages())
    .filter(({ role }) => role === 'assistant')
    .map(({ id }) => id);
  expect(
    acting
      .filter((line) => line.endsWith(one!))
      .map((line) => line.split(' ')[0]!)
      .sort(),
  ).toEqual([
    'acting-chunk',
    'acting-chunk',
    'post-acting',
    'post-acting',
    'pre-acting',
    'pre-acting',
  ]);
  expect(acting.filter((line) => line.endsWith(two!))).toHaveLength(4);
  expect(acting).toHaveLength(10);
  const open = first.flatMap((event) => (event.type === 'suspended' ? event.pending : []));
  const resumed = await eventsOf(
    agent.stream([{ type: 'result', toolUseId: open[0]!.toolUseId, output: 'told' }]),
  );
  expect(resumed.filter((event) => 'parallelId' in event)).toMatchObject([
    { type: 'post-acting', parallelId: two },
  ]);
});

test('events of a child agent keep their own `parallelId` and result', async () => {
  const inner = setUp([calls('look'), 'Inner.']);
  const child = agentTool(inner.agent, { name: 'child', description: '' });
  const { agent } = setUp(
    [{ toolCalls: [{ name: 'call_child', input: { message: 'Hi' } }] }, 'Outer.'],
    { tools: [child] },
  );
  const events = await eventsOf(agent.stream('go'));
  const ids = new Map(
    events.flatMap((event) => ('parallelId' in event ? [[event.runId, event.parallelId]] : [])),
  );
  expect(ids.size).toBe(2);
  expect(new Set(ids.values()).size).toBe(2);
  expect(events.filter(({ type }) => type === 'run-end')).toHaveLength(2);
});

test('with reactMemory(), a reader that leaves ends the run, and the next call works', async () => {
  const { agent } = setUp([{ text: 'one two three' }, 'Fine.']);
  for await (const event of agent.stream('go')) if (event.type === 'reasoning-chunk') break;
  expect(await agent.call('again')).toMatchObject({ text: 'Fine.', reactMemory: [] });
});
