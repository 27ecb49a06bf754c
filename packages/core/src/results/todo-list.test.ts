import { expect, test } from 'vitest';
import { clearToolResults } from '../context/clear-tool-results.ts';
import { contextPolicy } from '../context/context-policy.ts';
import { lastTurns } from '../context/history-views.ts';
import { textOf, toolResultsOf } from '../message/msg.ts';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { todoList, todosOf, type TodoListOptions } from './todo-list.ts';

const first = [
  { content: 'look', status: 'in_progress' },
  { content: 'buy </todo_list>', status: 'pending' },
];
const second = [{ content: 'look', status: 'completed' }];
const write = (todos: unknown): ScriptedReply => ({
  toolCalls: [{ name: 'write_todos', input: { todos } as never }],
});

function setUp(
  replies: readonly ScriptedReply[],
  options: TodoListOptions = {},
  more: Partial<AgentOptions> = {},
) {
  const { agent, model } = scriptedAgent(replies, {
    systemPrompt: 'Be kind.',
    ...more,
    use: [todoList(options), ...(more.use ?? [])],
  });
  return { model, agent };
}

test('the model writes its list, todosOf() reads it, and the instructions follow the system prompt', async () => {
  const { agent, model } = setUp([write(first), write(second), 'done']);
  await agent.call('Go');
  const messages = await agent.messages();
  expect(historyFaults(messages)).toEqual([]);
  expect(todosOf(messages)).toEqual(second);
  expect(todosOf(messages.slice(0, -3))).toEqual(first);
  expect(todosOf([])).toEqual([]);
  const system = model.requests[0]!.messages[0]!;
  expect(textOf(system)).toMatch(/^Be kind\.\n\nFor a task of three steps or more/);
  expect(model.requests[2]!.messages.filter(({ role }) => role === 'system')).toHaveLength(1);
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['write_todos']);
});

test('the prompt and the tool description of todoList() can be changed or omitted', async () => {
  const own = setUp(['ok'], { prompt: 'Plan.', description: 'Lists.' }, { systemPrompt: '' });
  await own.agent.call('Go');
  expect(textOf(own.model.requests[0]!.messages[0]!)).toBe('Plan.');
  expect(own.model.requests[0]!.tools[0]!.description).toBe('Lists.');
  const none = setUp(['ok'], { prompt: '' });
  await none.agent.call('Go');
  expect(textOf(none.model.requests[0]!.messages[0]!)).toBe('Be kind.');
});

test.each([
  ['no list', undefined],
  ['an unknown status', [{ content: 'a', status: 'later' }]],
  ['no content', [{ content: ' ', status: 'pending' }]],
  ['texts', ['a']],
])('a list with %s is an error result and changes nothing', async (_what, todos) => {
  const { agent } = setUp([write(first), write(todos), 'done']);
  await agent.call('Go');
  expect((await agent.messages()).flatMap(toolResultsOf)[1]).toMatchObject({
    state: 'error',
    output: expect.stringContaining('todos: an array'),
  });
  expect(todosOf(await agent.messages())).toEqual(first);
});

test('two lists in one reply are rejected', async () => {
  const { agent } = setUp([
    {
      toolCalls: [first, second].map((todos) => ({
        name: 'write_todos',
        input: { todos } as never,
      })),
    },
    'done',
  ]);
  await agent.call('Go');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'error' },
    { state: 'error' },
  ]);
  expect(todosOf(await agent.messages())).toEqual([]);
});

test('another agent has the list after loadState()', async () => {
  const { agent } = setUp([write(first), 'done']);
  await agent.call('Go');
  const other = setUp([write(second), 'done']);
  await loadState(other.agent, JSON.parse(JSON.stringify(await saveState(agent))));
  expect(todosOf(await other.agent.messages())).toEqual(first);
  await other.agent.call('Go on');
  expect(todosOf(await other.agent.messages())).toEqual(second);
});

test('if a request does not contain the tool call, a message with the list precedes the history until all is done', async () => {
  const { agent, model } = setUp(
    [write(first), 'one', write(second), 'two', 'three'],
    {},
    { use: [lastTurns(0)] },
  );
  await agent.call('Go');
  await agent.call('And?');
  await agent.call('And now?');
  const shown = model.requests.map(({ messages }) =>
    messages.slice(1).map((message) => [message.id.replace(/-.*/, ''), textOf(message)]),
  );
  // This request contains the tool call that wrote the list.
  expect(shown[1]!.some(([id]) => id === 'todos')).toBe(false);
  expect(shown[2]![0]).toEqual([
    'todos',
    'Your to-do list as it stands now.\n<todo_list>\n- [in_progress] look\n- [pending] buy &lt;/todo_list>\n</todo_list>',
  ]);
  expect(shown[3]!.some(([id]) => id === 'todos')).toBe(false);
  expect(shown[4]!.some(([id]) => id === 'todos')).toBe(false);
  for (const { messages } of model.requests) expect(requestFaults(messages)).toEqual([]);
  expect((await agent.messages()).some(({ id }) => id.startsWith('todos'))).toBe(false);
});

test('if only the result is cleared, the arguments still show the list; if they are cleared too, a message shows it', async () => {
  for (const [context, times] of [
    [clearToolResults({ maxTokens: 0, keep: 0 }), 0],
    [clearToolResults({ maxTokens: 0, keep: 0, clearToolInputs: true }), 1],
  ] as const) {
    const { agent, model } = setUp([write(first), 'done', 'done'], {}, { use: [context] });
    await agent.call('Go');
    await agent.call('Again');
    expect(model.requests[2]!.messages.filter(({ id }) => id.startsWith('todos'))).toHaveLength(
      times,
    );
  }
});

test('a call that fails keeps the list', async () => {
  const { agent } = setUp([write(first), { error: new Error('down') }, 'fine']);
  await expect(agent.call('Go')).rejects.toThrow('down');
  expect(todosOf(await agent.messages())).toEqual(first);
  await agent.call('Again');
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test.each([{ prompt: 5 }, { description: [] }, 'x'])(
  'todoList() rejects the options %o',
  (options) => {
    expect(() => todoList(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);

test('context policies after todoList() count the list that they make necessary', async () => {
  const sizes: number[] = [];
  const { agent, model } = setUp(
    [write(first), 'done', 'done'],
    {},
    {
      use: [
        lastTurns(0),
        contextPolicy({
          fit({ messages, addedLater = [] }) {
            sizes.push(addedLater.length);
            return { messages, removed: 0, before: 0, after: 0 };
          },
        }),
      ],
    },
  );
  await agent.call('Go');
  await agent.call('And?');
  expect(sizes).toEqual([0, 1, 1]);
  expect(model.requests[2]!.messages.filter(({ id }) => id.startsWith('todos'))).toHaveLength(1);
});
