import { expect, test } from 'vitest';
import type { Middleware } from '../agent/middleware.ts';
import { AgentError } from '../error/agent-error.ts';
import { assistantMessage, toolMessage, userMessage, toolResultsOf } from '../message/msg.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { pay } from '@test/support/plain-tools.ts';
import { closeOpenCalls, type CloseOpenCallsOptions } from './close-open-calls.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';

const ask = tool({
  name: 'ask',
  description: '',
  input: { type: 'object' },
  execute: (_input, { suspend }) => suspend('ask Ann'),
});

function setUp(
  calls: readonly string[],
  replies: readonly ScriptedReply[] = ['fine'],
  options: CloseOpenCallsOptions = {},
) {
  const { agent, model } = scriptedAgent(
    [{ toolCalls: calls.map((name) => ({ name })) }, ...replies],
    { tools: [pay, ask], use: [closeOpenCalls(options)] },
  );
  const results = async (): Promise<unknown> => {
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    return messages.flatMap(toolResultsOf).map(({ state, output }) => [state, output]);
  };
  return { agent, model, results };
}

test('tool calls that a new message cancels get a result that says so', async () => {
  const { agent, model, results } = setUp(['pay', 'ask']);
  expect(await agent.call('Go')).toMatchObject({ reason: 'suspended' });
  expect(await agent.call('Never mind')).toMatchObject({ reason: 'stop', text: 'fine' });
  expect(await results()).toEqual([
    [
      'interrupted',
      'The call of "pay" was canceled: another message came in before it had ended. It did not run.',
    ],
    [
      'interrupted',
      'The call of "ask" was canceled: another message came in before it had ended. It may have had effects.',
    ],
  ]);
  expect(requestFaults(model.requests[1]!.messages)).toEqual([]);
});

test('the text says that a tool call of another host, or an external tool call, may have had effects', async () => {
  const use = assistantMessage([{ type: 'tool_use', id: 'far', name: 'pay', input: {} }]);
  const model = new ScriptedModel([{ toolCalls: [{ name: 'outside' }] }, 'fine']);
  const outside = tool({ name: 'outside', description: '', input: { type: 'object' } });
  const memory = new InMemoryMemory([userMessage('Go'), use]);
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [pay, outside],
    memory,
    use: [closeOpenCalls()],
  });
  await agent.call('Never mind');
  await agent.call('Never mind that either');
  const outputs = (await agent.messages())
    .flatMap(toolResultsOf)
    .map(({ output }) => String(output));
  expect(outputs.map((output) => /"(\w+)".*had ended\. (.*)/.exec(output)!.slice(1))).toEqual([
    ['pay', 'It may have had effects.'],
    ['outside', 'It may have had effects.'],
  ]);
});

test('`text` sets the text of the result, and the post-acting event contains it', async () => {
  const { agent } = setUp(['pay'], ['fine'], {
    text: ({ name, id }, { started }) => `${name} ${id} ${started}`,
  });
  await agent.call('Go');
  const said: unknown[] = [];
  for await (const event of agent.stream('Never mind'))
    if (event.type === 'post-acting') said.push(event.result.output);
  expect(said).toEqual(['pay call_1 false']);
});

test.each<readonly [what: string, text: () => unknown, output: string]>([
  ['an async function', async () => 'Canceled.', 'Canceled.'],
  ['a function that returns nothing', () => undefined, 'The call of "pay" was canceled: '],
  ['a function that returns an empty text', () => '', 'The call of "pay" was canceled: '],
])('`text` may be %s', async (_what, text, output) => {
  const { agent, results } = setUp(['pay'], ['fine'], { text: text as () => string });
  await agent.call('Go');
  await agent.call('Never mind');
  expect(await results()).toEqual([['interrupted', expect.stringContaining(output)]]);
});

test('decisions and results continue the tool calls normally', async () => {
  const decided = setUp(['pay', 'ask']);
  await decided.agent.call('Go');
  await decided.agent.call([
    { toolUseId: 'call_1', type: 'approve' },
    { toolUseId: 'call_2', type: 'result', output: 'yes' },
  ]);
  expect(await decided.results()).toEqual([
    ['success', 'paid'],
    ['success', 'yes'],
  ]);
  const answered = setUp(['pay']);
  await answered.agent.call('Go');
  await answered.agent.call(
    toolMessage({
      type: 'tool_result',
      toolUseId: 'call_1',
      name: 'pay',
      output: 'by hand',
      state: 'success',
    }),
  );
  expect(await answered.results()).toEqual([['success', 'by hand']]);
});

test('outside approvals(), closeOpenCalls() closes no tool call whose result is in a message', async () => {
  const output = 'by hand';
  const result = (id: string) =>
    toolMessage({ type: 'tool_result', toolUseId: id, name: 'pay', output, state: 'success' });
  const use = [closeOpenCalls()];
  const alone = scriptedAgent([{ toolCalls: [{ name: 'pay' }, { name: 'pay' }] }, 'fine'], {
    tools: [pay],
  }).agent;
  await alone.call('Go');
  // The middleware of one call is the outermost.
  expect(await alone.call(result('call_1'), { use })).toMatchObject({
    pending: [{ toolUseId: 'call_2' }],
  });
  await alone.call(result('call_2'), { use });
  expect((await alone.messages()).flatMap(toolResultsOf)).toMatchObject([{ output }, { output }]);
});

test('a call without input leaves a pending tool call pending', async () => {
  const { agent } = setUp(['pay'], []);
  await agent.call('Go');
  expect(await agent.call()).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'call_1' }],
  });
});

test('tool calls that an abort interrupts keep the usual text', async () => {
  const controller = new AbortController();
  const hang = tool({
    name: 'hang',
    description: '',
    input: { type: 'object' },
    execute: () => (controller.abort(), new Promise(() => {})),
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'hang' }] }, 'fine'], {
    tools: [hang],
    use: [closeOpenCalls()],
  });
  await agent.call('Go', { signal: controller.signal });
  await agent.call([userMessage('And now?')]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'interrupted', output: 'Interrupted before it finished; its effect is unknown.' },
  ]);
});

test('if `text` returns nothing, the session still works', async () => {
  const { agent } = setUp(['pay'], ['fine', 'good'], { text: () => undefined as never });
  await agent.call('Go');
  expect((await agent.call('Never mind')).text).toBe('fine');
  expect((await agent.call('And now?')).text).toBe('good');
});

test('if `text` throws, the call fails, and the next call works', async () => {
  let fails = true;
  const text = (): string => {
    if (fails) throw new Error('no words');
    return 'cancelled';
  };
  const { agent, results } = setUp(['pay'], ['fine'], { text });
  await agent.call('Go');
  await expect(agent.call('Never mind')).rejects.toThrow('no words');
  fails = false;
  await agent.call('Never mind');
  expect(await results()).toEqual([['interrupted', 'cancelled']]);
});

test.each([{ text: 'gone' }, null])('closeOpenCalls() rejects the options %o', (options) => {
  expect(() => closeOpenCalls(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

const refusing: Middleware = {
  wrapSettle: async (input, next, run) => {
    if (run.messages.length) throw new AgentError('GUARD_REJECTED', 'No.');
    return next(input);
  },
};

test.for([
  ['its id is in use', 'u1', [], 'error'],
  ['an inner `wrapSettle` refuses it', 'u2', [refusing], 'rejected'],
] as const)('a message leaves the pending calls open if %s', async ([, id, use, reason]) => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay', id: 'c1' }] }, 'Done.'], {
    tools: [pay],
    use: [closeOpenCalls(), ...use],
  });
  await agent.call(userMessage('Go', { id: 'u1' }));
  const result = await agent.call(userMessage('Stop', { id }), { throwOnError: false });
  expect(result).toMatchObject({ reason, pending: [{ toolUseId: 'c1' }] });
  expect((await agent.messages()).flatMap(toolResultsOf)).toEqual([]);
});

test('inner middleware sees the input as it was sent, and that the model comes next', async () => {
  const seen: unknown[] = [];
  const watching: Middleware = {
    wrapSettle: async (input, next) => {
      const outcome = await next(input);
      seen.push([input.decisions, outcome]);
      return outcome;
    },
  };
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay' }] }, 'Done.'], {
    tools: [pay],
    use: [closeOpenCalls(), watching],
  });
  await agent.call('Go');
  await agent.call('Never mind');
  expect(seen.at(-1)).toEqual([[], { to: 'model' }]);
});

test('if the run then suspends, a suspended tool does not run again', async () => {
  let runs = 0;
  const counted = tool({
    name: 'counted',
    description: '',
    input: {},
    execute: (_input, { suspend }) => {
      runs += 1;
      suspend('Wait.');
    },
  });
  const suspending: Middleware = {
    wrapSettle: async (input, next, run) => {
      const { length } = run.messages;
      const outcome = await next(input);
      return length ? { kind: 'unanswered', reason: 'suspended' } : outcome;
    },
  };
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'counted' }] }, 'Done.', 'Done.'], {
    tools: [counted],
    use: [closeOpenCalls(), suspending],
  });
  await agent.call('Go');
  await agent.call('Never mind');
  await agent.call('And now').catch(() => {});
  expect(runs).toBe(1);
  expect((await agent.messages()).flatMap(toolResultsOf)).toHaveLength(1);
});
