import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region own-middleware
import {
  AgentError,
  MemoryStore,
  ReActAgent,
  textOf,
  tool,
  toolResultsOf,
  type Middleware,
  type Tool,
} from '@isoloop/core';
import { hasResult } from '@isoloop/core/tool';
import { withStream } from '@isoloop/core/model';
// #endregion
// #region kernel
import { Agent } from '@isoloop/core/agent';
import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import { steering } from '@isoloop/core/steering';
// #endregion
// #region tool-failures
import {
  emulateTools,
  evictLargeResults,
  rewordToolErrors,
  todoList,
  todosOf,
} from '@isoloop/core/results';
// #endregion
// #region tool-emulation
// #endregion
// #region todo-list
// #endregion
// #region large-results
// #endregion
// #region context-editing
import { clearToolResults, summarizeHistory } from '@isoloop/core/context';
// #endregion

const own = (name: string, execute: () => string): Tool =>
  tool({ name, description: name, input: { type: 'object' }, execute });

test('custom middleware wraps the run, the model and the tools', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'clock' }] }, 'Noon.']);
  const tools = [own('clock', () => '12:00')];

  // #region own-middleware
  const cool: Middleware = {
    wrapModel: (next) =>
      withStream(next, (request, context) => next.stream({ ...request, temperature: 0 }, context)),
  };
  const logged: Middleware = {
    wrapRun: async (input, next) => {
      const result = await next(input); // wraps the whole run
      console.log(result.reason);
      return result;
    },
    wrapTool: async (call, next) => {
      const outcome = await next(call); // without a result, it waits, or has not started
      console.log(call.tool.name, hasResult(outcome) ? outcome.output : 'open');
      return outcome;
    },
  };
  const agent = new ReActAgent({ name: 'assistant', model, tools, use: [logged, cool] }); // the first one is the outermost
  await agent.call('What time is it?');
  // #endregion

  expect(log.mock.calls).toEqual([['clock', '12:00'], ['stop']]);
  expect(model.requests[0]!.temperature).toBe(0);
  log.mockRestore();
});

test('the kernel alone takes the parts that it needs', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', id: 'pay' }] }, 'Paid.']);
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => 'paid',
  });

  // #region kernel
  const agent = new Agent({
    name: 'assistant',
    model,
    tools: [pay], // needs approval
    use: [approvals(), steering()], // without `approvals()`, the constructor throws
  });
  const { pending } = await agent.call('Pay the bill');
  // #endregion

  expect(pending).toMatchObject([{ name: 'pay', kind: 'approval' }]);
  expect((await agent.call([{ toolUseId: 'pay', type: 'approve' }])).text).toBe('Paid.');
  expect(() => new Agent({ name: 'assistant', model, tools: [pay] })).toThrow(
    "import { approvals } from '@isoloop/core/approval'; use: [approvals()].",
  );
});

test('rewordToolErrors() and closeOpenCalls() set the result texts of failed and open tool calls', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'print' }] },
    'Off.',
    { toolCalls: [{ name: 'buy' }] },
    'Fine.',
  ]);
  const print = own('print', () => {
    throw new Error('ECONNREFUSED');
  });
  const buy = tool({
    name: 'buy',
    description: 'Buys',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => 'bought',
  });
  const isFatal = (error: unknown): boolean =>
    AgentError.is(error) && error.code === 'STORAGE_QUOTA';

  // #region tool-failures
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools: [print, buy],
    use: [
      rewordToolErrors({
        format: (error, { name }) =>
          `${name} is not available now (${String(error)}). Try something else.`,
        endsCall: isFatal, // these errors end the call with TOOL_ERROR
      }),
      closeOpenCalls(),
    ],
  });
  await agent.call('Print it');
  await agent.call('Buy paper'); // waits for an approval
  await agent.call('Never mind');
  // #endregion

  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    'print is not available now (Error: ECONNREFUSED). Try something else.',
    'The call of "buy" was canceled: another message came in before it had ended. It did not run.',
  ]);
});

test('emulateTools() imitates a tool with a model', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'pay', input: { amount: 5 } }] },
    'Paid.',
  ]);
  const small = new ScriptedModel(['{"receipt":"R-17"}']);
  const pay = own('pay', () => 'really paid');

  // #region tool-emulation
  const rehearsing = new ReActAgent({
    name: 'rehearsing',
    model,
    tools: [pay],
    use: [emulateTools({ model: small, tools: ['pay'], onFailure: 'error' })], // does not pay
  });
  await rehearsing.call('Pay the bill');
  // #endregion

  expect((await rehearsing.messages()).flatMap(toolResultsOf)[0]!.output).toBe(
    '{"receipt":"R-17"}',
  );
});

test('todoList() lets the model keep a list of tasks', async () => {
  const todos = [{ content: 'Book the train', status: 'in_progress' }];
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'write_todos', input: { todos } }] },
    'On it.',
  ]);
  const render = vi.fn<(todos: unknown) => void>();

  // #region todo-list
  const planner = new ReActAgent({ name: 'planner', model, use: [todoList()] });
  await planner.call('Plan my trip to Rome');
  render(todosOf(await planner.messages())); // [{ content: 'Book the train', status: 'in_progress' }], also after a resume
  // #endregion

  expect(render.mock.calls).toEqual([[todos]]);
});

test('evictLargeResults() stores a large result that the model reads in parts', async () => {
  const report = own('report', () =>
    Array.from({ length: 20_000 }, (_, n) => `${n + 1}: a line of the report`).join('\n'),
  );
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'report', id: 'r1' }] },
    { toolCalls: [{ name: 'read_result', input: { id: 'r1', query: '1999: a' } }] },
    'Found.',
  ]);
  const store = new MemoryStore();

  // #region large-results
  const evicting = evictLargeResults({ store, maxTokens: 20_000, headLines: 10 }); // any KeyValueStore
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools: [report],
    sessionId: 'ann-1',
    use: [evicting],
  });
  await agent.call('What is in line 1999?'); // the model gets ten lines and calls read_result({ id, query })
  await evicting.deleteSession('ann-1'); // when you delete the session's log
  // #endregion

  expect((await agent.messages()).flatMap(toolResultsOf)[1]!.output).toContain(
    '1999: 1999: a line',
  );
  expect(await store.keys('')).toEqual([]);
});

test('context policies clear old tool results and summarize old messages', async () => {
  const small = new ScriptedModel([]);
  const model = new ScriptedModel(['Hello.']);

  // #region context-editing
  const policies = [
    clearToolResults({
      maxTokens: 100_000,
      keep: 3,
      clearAtLeast: 20_000,
      exclude: ['write_todos'],
    }), // clears old tool results
    summarizeHistory({ maxTokens: 150_000, keep: 20, model: small }), // summarizes old messages; keeps the user's first one
  ];
  const agent = new ReActAgent({ name: 'assistant', model, use: policies });
  // #endregion

  await agent.call('Hi');
  expect(textOf(model.requests[0]!.messages[0]!)).toBe('Hi');
});
