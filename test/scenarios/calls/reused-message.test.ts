import { expect, test } from 'vitest';
import {
  assistantMessage,
  textOf,
  toolMessage,
  toolUsesOf,
  type Msg,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  tool,
  type AgentHook,
  type Middleware,
} from '@isoloop/core';
import { calls, eventsOf, scriptedAgent } from '../../support/scripted-agent.ts';

// A program may keep one message in a constant and use it as several answers.

const constant = assistantMessage('Constant.', { id: 'constant' });

const echo = tool({
  name: 'echo',
  description: '',
  input: { type: 'object' },
  execute: () => 'ok',
});

const messageOf = (at: string): AgentHook => ({
  on: {
    '*': (event) =>
      event.type === at ? ({ ...event, message: constant } as typeof event) : undefined,
  },
});

const memories = [
  ['a session', () => new SessionMemory(new MemoryStore(), 's')],
  ['messages alone', () => new InMemoryMemory()],
] as const;

/** Expects that the log has each answer, once, and that no two messages share an id. */
async function expectStored(
  agent: { messages(): Promise<readonly Msg[]> },
  answers: readonly Msg[],
): Promise<void> {
  const log = await agent.messages();
  for (const { id, content } of answers)
    expect(log.filter((one) => one.id === id)).toMatchObject([{ content }]);
  expect(new Set(log.map(({ id }) => id)).size).toBe(log.length);
  expect(new Set(answers.map(({ id }) => id)).size).toBe(answers.length);
}

test.for(
  memories.flatMap(([name, open]) =>
    ['post-reasoning', 'post-call', 'post-summary'].map((at) => [at, name, open] as const),
  ),
)('a %s hook may put one message in place of two answers: %s', async ([at, , open]) => {
  const limits = at === 'post-summary' ? { iterations: 1 } : {};
  const replies = at === 'post-summary' ? [calls('echo'), 'A.', calls('echo'), 'B.'] : ['A.', 'B.'];
  const { agent } = scriptedAgent(replies, {
    memory: open(),
    tools: [echo],
    limits,
    use: [messageOf(at)],
  });
  const first = await agent.call('one');
  const events = await eventsOf(agent.stream('two'));
  const end = events.at(-1);
  const second = end?.type === 'run-end' ? end.result : undefined;
  expect([first.text, second?.text]).toEqual(['Constant.', 'Constant.']);
  await expectStored(agent, [first.message, second!.message]);
  const reset = events.findLast(({ type }) => type === 'step-reset');
  expect(reset).toMatchObject({ replacement: { id: second!.message.id } });
});

test.for([
  ['wrapReply as an answer', { wrapReply: async () => answerWith(constant) }],
  ['wrapRequest as an answer', { wrapRequest: async () => answerWith(constant) }],
  ['wrapReply as a reply', { wrapReply: (reply, next) => next({ ...reply, message: constant }) }],
] as const satisfies readonly (readonly [string, Middleware])[])(
  'a middleware may answer twice with one message: %s',
  async ([, part]) => {
    const { agent } = scriptedAgent(['A.', 'B.'], { use: [part] });
    const first = await agent.call('one');
    const second = await agent.call('two');
    expect([first.text, second.text]).toEqual(['Constant.', 'Constant.']);
    await expectStored(agent, [first.message, second.message]);
  },
);

function answerWith(message: Msg) {
  return { kind: 'answer', reason: 'stop', message } as const;
}

test('an answer with the id of a stored message and other content gets an id of its own', async () => {
  let count = 0;
  const { agent } = scriptedAgent(['A.', 'B.'], {
    use: [
      {
        on: {
          'post-call': (event) => ({
            ...event,
            message: assistantMessage(`Answer ${++count}.`, { id: 'constant' }),
          }),
        },
      },
    ],
  });
  const results = [await agent.call('one'), await agent.call('two')];
  expect(results.map(({ text }) => text)).toEqual(['Answer 1.', 'Answer 2.']);
  await expectStored(
    agent,
    results.map(({ message }) => message),
  );
});

test('a reply with tool calls that a hook uses twice gets new ids for its calls, and each call runs once', async () => {
  const reply = assistantMessage([{ type: 'tool_use', id: 'c1', name: 'echo', input: {} }]);
  let count = 0;
  const { agent } = scriptedAgent(['A.', 'B.', 'Done.'], {
    tools: [echo],
    use: [
      {
        on: {
          'post-reasoning': (event) => (++count < 3 ? { ...event, message: reply } : undefined),
        },
      },
    ],
  });
  expect((await agent.call('go')).text).toBe('Done.');
  const log = await agent.messages();
  const ids = log.flatMap(toolUsesOf).map(({ id }) => id);
  expect(ids).toEqual(['c1', expect.not.stringMatching(/^c1$/)]);
  const results = log.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block.toolUseId] : [])),
  );
  expect(results).toEqual(ids);
});

test('if a post-call hook changes a message that the log has, the log gets the change, and its tool calls stay', async () => {
  const pay = tool({
    name: 'pay',
    description: '',
    input: { type: 'object' },
    needsApproval: true,
  });
  const { agent } = scriptedAgent([{ text: 'Secret.', toolCalls: [{ name: 'pay' }] }, 'Done.'], {
    tools: [pay],
    use: [
      {
        on: {
          'post-call': (event) =>
            toolUsesOf(event.message).length
              ? { ...event, message: assistantMessage('Please decide.') }
              : undefined,
        },
      },
    ],
  });
  const { message, pending } = await agent.call('go');
  const stored = (await agent.messages()).at(-1)!;
  expect(textOf(message)).toBe('Please decide.');
  expect(message.content).toEqual(stored.content);
  expect(message.id).toBe(stored.id);
  const toolUseId = pending[0]!.toolUseId;
  expect(toolUsesOf(stored).map(({ id }) => id)).toEqual([toolUseId]);
  const result = toolMessage({
    type: 'tool_result',
    toolUseId,
    name: 'pay',
    output: 'paid',
    state: 'success',
  });
  expect((await agent.call(result)).text).toBe('Done.');
  await expectStored(agent, [message]);
});
