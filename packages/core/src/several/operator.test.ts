import { expect, test } from 'vitest';
import type { Middleware } from '../agent/middleware.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { textOf, toolResultsOf } from '../message/msg.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { toUiMessages } from '../stream/ui/ui-messages.ts';
import { signalUntilTestEnd } from '@test/support/test-end.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { operator, operatorMessage } from './operator.ts';

const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: {},
  needsApproval: true,
  execute: () => 'paid',
});

const ann = (text: string, action?: 'join' | 'say' | 'leave') =>
  operatorMessage(text, { name: 'Ann', ...(action && { action }) });

function setUp(replies: readonly ScriptedReply[], store = new MemoryStore()) {
  const model = new ScriptedModel(replies);
  const memory = new SessionMemory(store, 's');
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [pay], use: [operator()] });
  return { agent, model, store };
}

const spoken = ({ requests }: ScriptedModel) =>
  requests.at(-1)!.messages.map((message) => `${message.name ?? message.role}: ${textOf(message)}`);

test('from the message of an operator on, the agent stays silent, also in a new process', async () => {
  const { agent, model, store } = setUp(['Hello.']);
  await agent.call('Hi');
  const joined = await agent.call(ann('I am Ann.', 'join'));
  expect(joined).toMatchObject({ reason: 'suspended', text: '', pending: [] });
  const { agent: later, model: none } = setUp([], store);
  expect(await later.call('Help')).toMatchObject({ reason: 'suspended', text: '' });
  await later.observe(ann('It works again.'));
  expect(none.requests).toEqual([]);
  expect(model.requests).toHaveLength(1);
  expect((await later.messages()).map((message) => [message.name, textOf(message)])).toEqual([
    [undefined, 'Hi'],
    ['a', 'Hello.'],
    ['Ann', 'I am Ann.'],
    [undefined, 'Help'],
    ['Ann', 'It works again.'],
  ]);
});

test('after the operator left, the agent answers the next message and knows who said what', async () => {
  const { agent, model } = setUp(['You are welcome.']);
  await agent.call(ann('I am Ann.', 'join'));
  await agent.call('Help');
  await agent.call(ann('Done.'));
  expect((await agent.call(ann('Bye.', 'leave'))).reason).toBe('suspended');
  expect(model.requests).toEqual([]);
  expect((await agent.call('Thanks')).text).toBe('You are welcome.');
  expect(spoken(model)).toEqual([
    'Ann: I am Ann.',
    'user: Help',
    'Ann: Done.',
    'Ann: Bye.',
    'user: Thanks',
  ]);
});

test('if the user wrote something meanwhile, the agent answers as soon as the operator leaves', async () => {
  const { agent, model } = setUp(['Let me see.']);
  await agent.call(ann('I am Ann.', 'join'));
  await agent.call('Help');
  expect(await agent.call(ann('Bye.', 'leave'))).toMatchObject({
    reason: 'stop',
    text: 'Let me see.',
  });
  expect(spoken(model)).toEqual(['Ann: I am Ann.', 'user: Help']);
});

test('an operator who joins a running agent call ends it before the next model request', async () => {
  const { agent, model } = setUp([
    () => {
      agent.interrupt({ mode: 'inject', messages: [ann('Wait.', 'join')] });
      return 'The answer.';
    },
  ]);
  expect((await agent.call('Hi')).reason).toBe('suspended');
  expect(model.requests).toHaveLength(1);
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'The answer.', 'Wait.']);
});

test('a tool call that waits for approval stays open while the operator is there', async () => {
  const { agent, model } = setUp([{ toolCalls: [{ name: 'pay' }] }, 'Paid.']);
  const { pending } = await agent.call('Pay');
  expect((await agent.call(ann('I check this.', 'join'))).pending).toEqual(pending);
  expect((await agent.call(ann('It is fine.', 'leave'))).pending).toEqual(pending);
  const decision = { toolUseId: pending[0]!.toolUseId, type: 'approve' } as const;
  expect((await agent.call([decision])).text).toBe('Paid.');
  expect(historyFaults(model.requests.at(-1)!.messages)).toEqual([]);
});

test.each([
  ['approve', { type: 'approve' }, 'paid'],
  ['reject', { type: 'reject', reason: 'too much' }, 'too much'],
  ['result', { type: 'result', output: 'by hand' }, 'by hand'],
] as const)(
  'a decision "%s" while the operator is there counts at once, and the agent stays silent',
  async (_type, decision, result) => {
    const { agent, model } = setUp([{ toolCalls: [{ name: 'pay' }] }, 'Bye.']);
    const [call] = (await agent.call('Pay')).pending;
    await agent.call(ann('I check this.', 'join'));
    const decided = await agent.call([{ toolUseId: call!.toolUseId, ...decision }]);
    expect(decided).toMatchObject({ reason: 'suspended', pending: [] });
    const results = (await agent.messages()).flatMap(toolResultsOf);
    expect(results).toMatchObject([{ output: expect.stringContaining(result) as string }]);
    expect(model.requests).toHaveLength(1);
    // The user can write, and gets the answer once the operator has left.
    expect((await agent.call('Thanks')).reason).toBe('suspended');
    expect((await agent.call(ann('Go on.', 'leave'))).text).toBe('Bye.');
    expect(historyFaults(model.requests.at(-1)!.messages)).toEqual([]);
  },
);

test('a decision of a process that died is carried out with the next message of the operator', async () => {
  const { agent, model, store } = setUp([{ toolCalls: [{ name: 'pay' }] }]);
  const [call] = (await agent.call('Pay')).pending;
  await agent.call(ann('I check this.', 'join'));
  const signal = signalUntilTestEnd();
  await new Promise<void>((resolve) => {
    const dying: Middleware = {
      wrapRound: async () => {
        resolve();
        return new Promise(() => {});
      },
    };
    const options = { use: [dying], signal };
    void agent.call([{ toolUseId: call!.toolUseId, type: 'approve' }], options);
  });
  const { agent: later } = setUp([], store);
  expect(await later.call(ann('Done.'))).toMatchObject({ reason: 'suspended', pending: [] });
  expect((await later.messages()).flatMap(toolResultsOf)).toMatchObject([{ output: 'paid' }]);
  expect(model.requests).toHaveLength(1);
});

test('pages see each message of an operator on its own, with the name', async () => {
  const { agent } = setUp(['Hello.']);
  await agent.call('Hi');
  await agent.call(ann('I am Ann.', 'join'));
  await agent.call(ann('What is it?'));
  expect(
    toUiMessages(await agent.messages()).map(({ role, metadata }) => [
      role,
      metadata?.['operator'],
    ]),
  ).toEqual([
    ['user', undefined],
    ['assistant', undefined],
    ['assistant', { name: 'Ann', action: 'join' }],
    ['assistant', { name: 'Ann', action: 'say' }],
  ]);
});

test('while a call is open, a message of an operator whose id is in use is refused', async () => {
  const { agent } = setUp([{ toolCalls: [{ name: 'pay' }] }]);
  await agent.call('Pay');
  const [question] = await agent.messages();
  const message = operatorMessage('Hello.', { name: 'Ann', id: question!.id });
  await expect(agent.call(message)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(await agent.messages()).toHaveLength(2);
});
