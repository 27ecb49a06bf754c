import { expect, test } from 'vitest';
import { agentTool } from '@isoloop/core/several';
import { type AgentOptions, ReActAgent, tool, type Tool } from '@isoloop/core';
import { arcReactor, oxygent } from '@isoloop/presets';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { concurrencyLimit, Semaphore } from '@isoloop/core/limits';

type Use = NonNullable<AgentOptions['use']>;

const ask = (count = 1): ScriptedReply => ({
  toolCalls: Array.from({ length: count }, () => ({
    name: 'call_child',
    input: { message: 'Go.' },
  })),
});

const made = (name: string, replies: readonly ScriptedReply[], use: Use, tools: Tool[] = []) =>
  new ReActAgent({
    name,
    // Each agent has its own user, so that no rate limit counts them together.
    userId: crypto.randomUUID(),
    model: new ScriptedModel(replies),
    tools,
    use,
  });

const childTool = (use: Use, tools: () => Tool[] = () => [], replies: ScriptedReply[] = []): Tool =>
  agentTool(() => made('child', [...replies, 'Child.'], use, tools()), {
    name: 'child',
    description: 'A child.',
  });

const parentOf = (use: Use, child: Tool, children = 1): ReActAgent =>
  made('parent', [ask(children), 'Parent.'], use, [child]);

test('a child uses the slot of its parent, also beside another child', async () => {
  const semaphore = new Semaphore(1);
  const use = [concurrencyLimit(semaphore)];
  expect((await parentOf(use, childTool(use), 3).call('Go.')).text).toBe('Parent.');
  expect(semaphore.free).toBe(1);
});

test('a child of a child uses the slot too, even if the agent between them has no limit', async () => {
  const semaphore = new Semaphore(1);
  const use = [concurrencyLimit(semaphore)];
  const middle = childTool([], () => [childTool(use)], [ask()]);
  expect((await parentOf(use, middle).call('Go.')).text).toBe('Parent.');
  expect(semaphore.free).toBe(1);
});

const presets: readonly (readonly [string, number, () => Use])[] = [
  ['arcReactor()', 24, () => [arcReactor()]],
  ['concurrencyLimit()', 8, () => [concurrencyLimit(new Semaphore(4))]],
];

test.each(presets)(
  '%s: %i parents at the same time do not wait for their own children',
  async (_name, count, make) => {
    const use = make();
    const calls = Array.from({ length: count }, () => parentOf(use, childTool(use)).call('Go.'));
    const texts = (await Promise.all(calls)).map(({ text }) => text);
    expect(texts).toEqual(Array.from({ length: count }, () => 'Parent.'));
  },
);

test('oxygent(): 20 parents at the same time do not wait for their own children', async () => {
  const use = [oxygent()];
  const question = JSON.stringify({
    tool_name: 'call_child',
    arguments: { message: 'Go.' },
  });
  const calls = Array.from({ length: 20 }, () =>
    made('parent', [question, 'Parent.'], use, [childTool(use)]).call('Go.'),
  );
  const results = await Promise.all(calls);
  expect(results.map(({ toolsUsed }) => toolsUsed)).toEqual(
    Array.from({ length: 20 }, () => ['call_child']),
  );
});

test('unrelated runs still wait, also while a child runs', async () => {
  const semaphore = new Semaphore(1);
  const use = [concurrencyLimit(semaphore)];
  const order: string[] = [];
  let other: Promise<unknown> | undefined;
  const watch = {
    on: {
      'pre-reasoning': async () => {
        other = made('other', ['Other.'], use)
          .call('Go.')
          .then(() => order.push('other'));
        while (semaphore.waiting === 0) await Promise.resolve();
      },
    },
  };
  await parentOf(use, childTool([...use, watch])).call('Go.');
  order.push('parent');
  await other;
  expect(order).toEqual(['parent', 'other']);
  expect(semaphore.free).toBe(1);
});

test('a child that suspends gives no slot back', async () => {
  const semaphore = new Semaphore(2);
  const use = [concurrencyLimit(semaphore)];
  const free: number[] = [];
  const outside = tool({ name: 'outside', description: '', input: {} });
  const child = childTool(use, () => [outside], [{ toolCalls: [{ name: 'outside', input: {} }] }]);
  const watch = { on: { suspended: () => void free.push(semaphore.free) } };
  const { reason } = await parentOf([...use, watch], child).call('Go.');
  expect(reason).toBe('suspended');
  expect(free).toEqual([1]);
  expect(semaphore.free).toBe(2);
});
