import { expect, test } from 'vitest';
import * as z from 'zod';
import type { Middleware } from '../agent/middleware.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { outputText, textOf, toolResultsOf, type Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { createUiMessageEncoder } from '../stream/ui/ui-message-encoder.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { metaTool } from '../tool/set/meta-tool.ts';
import { Toolkit } from '../tool/set/toolkit.ts';
import { approvals } from '../approval/approvals.ts';
import { operator, operatorMessage } from './operator.ts';
import { piiRule, outputGuards } from '@isoloop/guards';
import { structured } from '../output/structured.ts';
import { promptVariables } from '../prompt/prompt-variables.ts';
import { retry } from '../resilience/retry.ts';
import { todoList } from '../results/todo-list.ts';
import { selectTools } from '../selection/select-tools.ts';
import { calls } from '@test/support/scripted-agent.ts';
import { handOff } from './hand-off.ts';
import type { HandOffAgent, HandOffOptions } from './hand-off-options.ts';

const own = (name: string, result = `${name} done`, more: object = {}) =>
  tool({ name, description: `Does ${name}`, input: {}, execute: () => result, ...more });

const billing: HandOffAgent = {
  name: 'billing',
  description: 'Invoices and refunds.',
  systemPrompt: 'You are billing.',
  tools: [own('refund'), own('look', 'invoice 7')],
};
const support: HandOffAgent = {
  name: 'support',
  description: 'Technical problems.',
  systemPrompt: 'You are support.',
};

const toBilling = calls('transfer_to_billing');

function setUp(
  replies: readonly ScriptedReply[],
  given: Partial<HandOffOptions> = {},
  more: Partial<AgentOptions> = {},
) {
  const model = new ScriptedModel(replies);
  const { use = [], ...rest } = more;
  const agent = new ReActAgent({
    name: 'reception',
    systemPrompt: 'You are the reception.',
    model,
    tools: [own('look', 'a visitor')],
    ...rest,
    use: [...use, handOff({ to: [billing, support], ...given })],
  });
  return { agent, model };
}

const promptsOf = ({ requests }: ScriptedModel) =>
  requests.map(({ messages }) => textOf(messages[0]!));
const toolsOf = ({ tools }: ModelRequest) => tools.map(({ name }) => name);
const namesOf = (messages: readonly Msg[]) =>
  messages.filter(({ role }) => role === 'assistant').map(({ name }) => name);
const resultsOf = (messages: readonly Msg[]) =>
  messages.flatMap(toolResultsOf).map(({ state, output }) => `${state}: ${outputText(output)}`);

test('a text that middleware adds while another agent is active stays when the first one is active again', async () => {
  const adding: Middleware = {
    wrapRound: (round, next, run) => {
      if (run.prompt.base === 'You are billing.') run.prompt.append('Added.');
      return next(round);
    },
  };
  const replies = [toBilling, calls('look'), calls('transfer_to_reception'), 'Hello.'];
  const { agent, model } = setUp(replies, {}, { use: [adding] });
  await agent.call('My invoice?');
  expect(promptsOf(model).at(-1)).toBe('You are the reception.\n\nAdded.\n\nAdded.');
});

test('the model passes the conversation to an agent, which answers with its own prompt and tools', async () => {
  const { agent, model } = setUp([calls('look'), toBilling, calls('look'), 'Invoice 7.', 'Sure.']);
  const { text, message } = await agent.call('My invoice?');
  expect(text).toBe('Invoice 7.');
  expect(message.name).toBe('billing');
  expect(promptsOf(model)).toEqual([
    'You are the reception.',
    'You are the reception.',
    'You are billing.',
    'You are billing.',
  ]);
  expect(toolsOf(model.requests[0]!)).toEqual([
    'transfer_to_billing',
    'transfer_to_support',
    'look',
  ]);
  expect(toolsOf(model.requests[2]!)).toEqual([
    'transfer_to_reception',
    'transfer_to_support',
    'refund',
    'look',
  ]);
  const messages = await agent.messages();
  expect(namesOf(messages)).toEqual(['reception', 'reception', 'billing', 'billing']);
  expect(resultsOf(messages)).toEqual([
    'success: a visitor',
    'success: The agent "billing" answers from now on.',
    'success: invoice 7',
  ]);
  // The next question goes to the same agent.
  await agent.call('And a refund?');
  expect(promptsOf(model).at(-1)).toBe('You are billing.');
  expect(model.requests.at(-1)!.messages).toHaveLength(10);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('an agent hands the conversation back, and on to a third agent', async () => {
  const { agent, model } = setUp(
    [toBilling, calls('transfer_to_reception'), calls('transfer_to_support'), 'Try again.'],
    { own: { description: 'Knows everybody.' } },
  );
  expect((await agent.call('Hi')).message.name).toBe('support');
  expect(promptsOf(model)).toEqual([
    'You are the reception.',
    'You are billing.',
    'You are the reception.',
    'You are support.',
  ]);
  expect(model.requests[1]!.tools[0]!.description).toBe(
    'Passes the conversation to the agent "reception". Knows everybody.',
  );
});

test('the list `to` of an agent limits to whom it hands off', async () => {
  const { agent, model } = setUp(
    [toBilling, calls('transfer_to_reception'), calls('transfer_to_support'), 'Try again.'],
    {
      to: [
        { ...billing, to: ['support'] },
        { ...support, to: [] },
      ],
    },
  );
  await agent.call('Hi');
  expect(toolsOf(model.requests[1]!)).toEqual(['transfer_to_support', 'refund', 'look']);
  expect(resultsOf(await agent.messages())[1]).toBe(
    'error: Error: "billing" cannot hand off to "reception".',
  );
  expect(toolsOf(model.requests[3]!)).toEqual([]);
});

test('an agent with its own model is asked through the middleware around the model', async () => {
  const busy = new ScriptedModel([{ error: new Error('busy') }, 'Invoice 7.'], {
    modelId: 'cheap',
  });
  const seen: string[] = [];
  const count: Middleware = {
    wrapModel: (next) => ({
      ...next,
      stream: (request, context) =>
        next.stream(request, { ...context, onModel: ({ modelId }) => void seen.push(modelId) }),
    }),
  };
  const { agent, model } = setUp(
    [toBilling],
    { to: [{ ...billing, model: busy }] },
    { use: [count, retry({ sleep: async () => {}, isTransient: () => true })] },
  );
  expect((await agent.call('My invoice?')).text).toBe('Invoice 7.');
  expect([model.requests.length, busy.requests.length]).toEqual([1, 2]);
  expect(seen).toContain('cheap');
});

test('an input filter decides what part of the history the agent sees, and later messages follow', async () => {
  const { agent, model } = setUp(
    [
      calls('look'),
      calls('look', 'transfer_to_billing'),
      calls('refund'),
      'Done.',
      'Bye.',
      calls('transfer_to_reception'),
      'Here again.',
    ],
    {
      to: [
        {
          ...billing,
          inputFilter: (history, { from, to }) => {
            expect([from, to]).toEqual(['reception', 'billing']);
            return history.filter(({ role }) => role === 'user').slice(-1);
          },
        },
      ],
    },
  );
  await agent.call('First');
  await agent.call('Second');
  await agent.call('Third');
  const seen = model.requests.map(({ messages }) => messages.slice(1).map(({ role }) => role[0]));
  expect(seen.slice(2, 5).map((roles) => roles.join(''))).toEqual(['u', 'uat', 'uatau']);
  // The agent without a filter sees everything.
  expect(seen.at(-1)!.join('')).toBe('uatattatauauat');
});

test('of two hand-offs in one reply the first one counts, and other tool calls run', async () => {
  const { agent, model } = setUp([
    calls('look', 'transfer_to_support', 'transfer_to_billing'),
    'Try again.',
  ]);
  expect((await agent.call('Hi')).message.name).toBe('support');
  expect(resultsOf(model.requests[1]!.messages)).toEqual([
    'success: a visitor',
    'success: The agent "support" answers from now on.',
    'error: Error: Only the first hand-off of a reply counts, which is the call "call_2".',
  ]);
});

test('at the limit the active agent answers, and the next question counts anew', async () => {
  const back = calls('transfer_to_reception');
  const { agent, model } = setUp([toBilling, back, toBilling, 'Enough.', toBilling, 'Yes?'], {
    limit: 2,
  });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stop', text: 'Enough.' });
  expect(toolsOf(model.requests[1]!)).toContain('transfer_to_reception');
  expect(toolsOf(model.requests[2]!)).toEqual(['look']);
  expect(resultsOf(await agent.messages()).at(-1)).toBe(
    'error: Error: The conversation has been handed off 2 times since the last question. Answer it yourself.',
  );
  expect((await agent.call('Again')).message.name).toBe('billing');
});

test.for([
  ['after a hand-off', [toBilling, calls('pay')], 'billing'],
  ['beside a hand-off', [calls('pay', 'transfer_to_billing')], 'reception'],
] as const)(
  'a tool call %s that waits for approval runs in a new process with the tools of its own agent',
  async ([, asking, payer]) => {
    const store = new MemoryStore();
    const pay = (of: string) => own('pay', `${of} paid`, { needsApproval: true });
    const build = (replies: readonly ScriptedReply[]) =>
      setUp(
        replies,
        { to: [{ ...billing, tools: [pay('billing')] }, support] },
        { memory: new SessionMemory(store, 's'), tools: [pay('reception')] },
      );
    const { agent } = build(asking);
    const first = await agent.call('Pay');
    expect(first).toMatchObject({ reason: 'suspended', pending: [{ name: 'pay' }] });
    const { agent: second, model } = build(['Paid.']);
    const decision = { toolUseId: first.pending[0]!.toolUseId, type: 'approve' } as const;
    expect((await second.call([decision])).message.name).toBe('billing');
    const results = resultsOf(await second.messages());
    expect(results.filter((text) => text.includes('paid'))).toEqual([`success: ${payer} paid`]);
    expect(promptsOf(model)).toEqual(['You are billing.']);
  },
);

test('a process that dies after a hand-off leaves the conversation with the right agent', async () => {
  const store = new MemoryStore();
  const build = (replies: readonly ScriptedReply[]) =>
    setUp(replies, {}, { memory: new SessionMemory(store, 's') });
  const { agent } = build([toBilling, { error: new Error('gone') }]);
  await agent.call('Hi', { throwOnError: false });
  const { agent: second, model } = build(['Invoice 7.']);
  expect((await second.call()).message.name).toBe('billing');
  expect(promptsOf(model)).toEqual(['You are billing.']);
  // A finished answer of another agent needs no answer.
  await expect(second.call()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('without the messages of a hand-off, the agent before it is active again', async () => {
  const { agent, model } = setUp([toBilling, 'Invoice 7.', 'Hello.']);
  await agent.call('Hi');
  const messages = await agent.messages();
  await agent.memory.delete(messages.slice(1).map(({ id }) => id));
  expect((await agent.call('Hi again')).message.name).toBe('reception');
  expect(promptsOf(model).at(-1)).toBe('You are the reception.');
});

test('an imported hand-off does not change the active agent', async () => {
  const { agent: elsewhere } = setUp([toBilling, 'Hello.']);
  await elsewhere.call('My invoice?');
  const imported = (await elsewhere.messages()).map((message) =>
    message.role === 'user' ? message : { ...message, metadata: { imported: true } },
  );
  const memory = new InMemoryMemory();
  await memory.append(imported);
  const { agent, model } = setUp(['A visitor.'], {}, { memory });
  const { message } = await agent.call('Who is there?');
  expect(message.name).toBe('reception');
  expect(promptsOf(model)).toEqual(['You are the reception.']);
});

test('a typed value and tools of middleware serve the agent that took over', async () => {
  const schema = z.object({ invoice: z.number() });
  const { agent, model } = setUp(
    [toBilling, { toolCalls: [{ name: 'generate_response', input: { invoice: 7 } }] }],
    {},
    { use: [todoList()] },
  );
  const result = await agent.call('My invoice?', { output: structured(schema) });
  expect(toolsOf(model.requests[1]!)).toEqual(expect.arrayContaining(['write_todos', 'refund']));
  expect(promptsOf(model)[1]).toMatch(/^You are billing\.\n\nFor a task/);
  expect(result.output).toEqual({ invoice: 7 });
});

test('`allowTools` of an agent call also holds for the tools of the other agents', async () => {
  const { agent, model } = setUp([toBilling, calls('refund', 'transfer_to_support'), 'Hm.']);
  await agent.call('Hi', { allowTools: ['look', 'transfer_to_billing'] });
  expect(model.requests.map(toolsOf)).toEqual([
    ['transfer_to_billing', 'look'],
    ['look'],
    ['look'],
  ]);
  expect(resultsOf(await agent.messages()).slice(1)).toEqual([
    'error: Error: Tool not allowed: refund.',
    'error: Error: Tool not allowed: transfer_to_support.',
  ]);
});

test('`selectTools` after `handOff` chooses among the tools of the active agent', async () => {
  const model = new ScriptedModel([toBilling, 'Invoice 7.']);
  const agent = new ReActAgent({
    name: 'reception',
    model,
    tools: [own('look'), own('write')],
    use: [
      handOff({ to: [billing] }),
      selectTools({ by: (_question, tools) => tools.slice(0, 1).map(({ name }) => name) }),
    ],
  });
  await agent.call('Hi');
  expect(model.requests.map(toolsOf)).toEqual([
    ['transfer_to_billing', 'look'],
    ['transfer_to_reception', 'refund'],
  ]);
});

test('with `returnDirect` for all tools, a hand-off is no answer', async () => {
  const { agent } = setUp([toBilling, 'Invoice 7.']);
  expect((await agent.call('Hi', { returnDirect: true })).text).toBe('Invoice 7.');
});

test('the arguments of a hand-off reach `onHandOff`, and its exception keeps the agent', async () => {
  const told: unknown[] = [];
  const { agent, model } = setUp(
    [
      { toolCalls: [{ name: 'to_billing', input: { reason: 'angry' } }] },
      { toolCalls: [{ name: 'to_billing', input: { reason: 'invoice' } }] },
      'Invoice 7.',
    ],
    {
      to: [{ ...billing, toolName: 'to_billing', input: z.object({ reason: z.string() }) }],
      onHandOff: (given, { sessionId }) => {
        if ((given.input as { reason: string }).reason === 'angry') throw new Error('Calm down');
        told.push([given, typeof sessionId]);
      },
    },
  );
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('Hi')) events.push(event);
  expect(promptsOf(model)[1]).toBe('You are the reception.');
  expect(told).toEqual([
    [{ from: 'reception', to: 'billing', input: { reason: 'invoice' } }, 'string'],
  ]);
  const chunk = { type: 'data-hand-off', data: { from: 'reception', to: 'billing' } };
  expect(events.filter(({ type }) => type === 'acting-chunk')).toMatchObject([{ chunk }]);
});

test('a part of a reply and the answer at a limit have the name of the agent that wrote them', async () => {
  const { agent } = setUp([toBilling, [{ text: 'First', hang: true }], 'Hello.']);
  const stream = agent.stream('Hi');
  for await (const event of stream)
    if (event.type === 'reasoning-chunk') agent.interrupt('Stopped.');
  const messages = await agent.messages();
  expect(messages.slice(-2).map((one) => [one.name, textOf(one)])).toEqual([
    ['billing', 'First'],
    ['billing', 'Stopped.'],
  ]);
  const { agent: other } = setUp([toBilling, 'Sum.'], {}, { limits: { iterations: 1 } });
  const { reason, message } = await other.call('Hi');
  expect([reason, message.name, textOf(message)]).toEqual(['max-iterations', 'billing', 'Sum.']);
  expect(namesOf(await other.messages())).toEqual(['reception', 'billing']);
});

test('output guards before `handOff` refuse a model that they would not check', async () => {
  const part = handOff({ to: [{ ...billing, model: new ScriptedModel([]) }] });
  const guards = outputGuards([piiRule()]);
  const model = new ScriptedModel([toBilling, 'Write to ann@example.com']);
  const build = (use: AgentOptions['use']) => new ReActAgent({ name: 'a', model, use: use! });
  expect(() => build([part, guards])).toThrow('Put handOff() after outputGuards()');
  const { text } = await build([guards, handOff({ to: [billing] })]).call('Hi');
  expect(text).not.toContain('ann@example.com');
});

test('a person who answers in the place of an agent keeps the own name', async () => {
  const ann = operatorMessage('I am Ann.', { name: 'Ann', action: 'join' });
  const { agent } = setUp(
    [toBilling, [{ text: 'First', hang: true }], 'Hello.'],
    {},
    { use: [operator()] },
  );
  for await (const event of agent.stream('Hi')) {
    if (event.type !== 'reasoning-chunk') continue;
    agent.interrupt({ mode: 'inject', messages: [ann] });
    agent.interrupt({ mode: 'pause' });
  }
  expect(namesOf(await agent.messages())).toEqual(['reception', 'billing', 'Ann']);
  expect((await agent.call('Help')).reason).toBe('suspended');
  await agent.call(operatorMessage('Bye.', { name: 'Ann', action: 'leave' }));
  expect(namesOf(await agent.messages()).at(-1)).toBe('billing');
});

test('a tool call beside a hand-off belongs to the agent that made it, also after a person has written', async () => {
  const { agent } = setUp(
    [calls('transfer_to_billing', 'pay'), 'Paid.'],
    {},
    { tools: [own('pay', 'paid', { needsApproval: true })], use: [operator()] },
  );
  const [call] = (await agent.call('Hi')).pending;
  for (const action of ['join', 'leave'] as const)
    await agent.call(operatorMessage('I am Ann.', { name: 'Ann', action }));
  const { text, message } = await agent.call([{ toolUseId: call!.toolUseId, type: 'approve' }]);
  expect([message.name, text]).toEqual(['billing', 'Paid.']);
  expect(resultsOf(await agent.messages()).at(-1)).toBe('success: paid');
});

test.each(['before', 'after'] as const)(
  'with `promptVariables()` %s `handOff()`, the prompt of each agent is rendered once',
  async (order) => {
    const values = { name: 'Ann ${name}' };
    const variables = promptVariables({ variables: () => values });
    const passOn = handOff({ to: [{ ...billing, systemPrompt: 'Bill ${name}.' }] });
    const model = new ScriptedModel([
      toBilling,
      calls('look'),
      'Done.',
      calls('transfer_to_reception'),
      toBilling,
      calls('transfer_to_reception'),
      'Bye.',
    ]);
    const agent = new ReActAgent({
      name: 'reception',
      systemPrompt: 'Greet ${name}.',
      model,
      use: [
        todoList({ prompt: 'Plan.' }),
        ...(order === 'before' ? [variables, passOn] : [passOn, variables]),
      ],
    });
    await agent.call('Hi');
    await agent.call('Again');
    const first = 'Greet Ann ${name}.\n\nPlan.';
    const member = 'Bill Ann ${name}.\n\nPlan.';
    expect(promptsOf(model)).toEqual([first, member, member, member, first, member, first]);
  },
);

test('chats of AI SDK get a data part that says which agent answers from now on', async () => {
  const { agent } = setUp([toBilling, 'Invoice 7.']);
  const encoder = createUiMessageEncoder();
  const chunks: object[] = [];
  for await (const batch of agent.stream('Hi').batches()) chunks.push(...encoder.encode(batch));
  const part = { type: 'data-hand-off', data: { from: 'reception', to: 'billing' } };
  const at = chunks.findIndex((chunk) => 'type' in chunk && chunk.type === part.type);
  expect(chunks[at]).toMatchObject(part);
  expect(JSON.stringify(chunks.slice(at))).toContain('Invoice');
});

test('agents that share the middleware do not share the active agent', async () => {
  const part = handOff({ to: [billing] });
  const one = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([toBilling, 'x']),
    use: [part],
  });
  const two = new ReActAgent({ name: 'b', model: new ScriptedModel(['y']), use: [part] });
  expect((await one.call('Hi')).message.name).toBe('billing');
  expect((await two.call('Hi')).message.name).toBe('b');
});

test('an approval rule names a tool of any agent of the team, whichever agent is active', async () => {
  const replies = [toBilling, calls('refund'), 'Refunded.', 'Bye.'];
  const rules = approvals({ needsApproval: { look: true, refund: 'Pays money back.' } });
  const only = { to: [{ ...billing, tools: [own('refund')] }] };
  const { agent } = setUp(replies, only, { use: [rules] });
  const { pending } = await agent.call('Hi');
  expect(pending).toMatchObject([{ name: 'refund', reason: 'Pays money back.' }]);
  const decision = { toolUseId: pending[0]!.toolUseId, type: 'approve' } as const;
  expect((await agent.call([decision])).text).toBe('Refunded.');
  // The rule about the tool of the first agent holds also while another agent is active.
  expect((await agent.call('Thanks')).text).toBe('Bye.');
  const unknown = { use: [approvals({ needsApproval: { pay: true } })] };
  await expect(setUp([], {}, unknown).agent.call('Hi')).rejects.toThrow('"pay"');
});

test('wrong options, repeated names and unknown names are refused', async () => {
  expect(() => handOff({ to: [] })).toThrow('handOff() needs an agent in `to`.');
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([]) });
  expect(() => handOff({ to: [agent as never] })).toThrow(/to\[0\] has no option/);
  const failing: readonly [HandOffOptions, string][] = [
    [{ to: [billing, { ...support, name: 'billing' }] }, 'two agents have the name "billing"'],
    [{ to: [billing], own: { to: ['boss'] } }, '"reception" cannot hand off to "boss"'],
    [{ to: [{ ...billing, name: '客服' }] }, 'The agent "客服" needs a `toolName`'],
  ];
  for (const [options, message] of failing)
    await expect(setUp([], options).agent.call('Hi')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message) as string,
    });
  const { agent: taken } = setUp([], {}, { tools: [own('transfer_to_billing')] });
  await expect(taken.call('Hi')).rejects.toMatchObject({ code: 'CONFIGURATION' });
  expect(await taken.messages()).toEqual([]);
});

test('an agent keeps its active tool groups in a later agent call with `use`', async () => {
  const tools = new Toolkit([metaTool(), { ...own('pay'), groups: ['money'] }], {
    groups: [{ name: 'money', description: 'Payments', active: false }],
  });
  const activate = { toolCalls: [{ name: 'switch_tool_groups', input: { groups: ['money'] } }] };
  const { agent, model } = setUp([toBilling, activate, 'ok', 'more', 'end'], {
    to: [{ ...billing, tools }],
  });
  await agent.call('one');
  await agent.call('two', { use: [{ name: 'other', wrapModel: (next) => next }] });
  await agent.call('three', { use: [{ name: 'answerAtLimit' }] });
  expect(model.requests.map((request) => toolsOf(request).includes('pay'))).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
});
