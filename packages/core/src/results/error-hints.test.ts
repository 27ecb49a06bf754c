import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { Middleware, Reply } from '../agent/middleware.ts';
import { textOf } from '../message/msg.ts';
import { jsonMode } from '../output/json-and-yaml-mode.ts';
import { structured } from '../output/structured.ts';
import { fitContext } from '../context/fit-context.ts';
import { modelRequestLimit } from '../limits/model-request-limit.ts';
import { arcReactor } from '@isoloop/presets';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { rolesOf } from '@test/roles-of.ts';
import { approvals } from '../approval/approvals.ts';
import { operator, operatorMessage } from '../several/operator.ts';
import { errorHints } from './error-hints.ts';

const input = { type: 'object' } as const;

function setUp(replies: readonly ScriptedReply[], use: readonly Middleware[]) {
  const execute = vi.fn((given: unknown): string => {
    const { out = 'seen' } = given as { readonly out?: string };
    if (out === 'fail') throw new Error('no such city');
    return out;
  });
  const look = tool({ name: 'look', description: '', input, execute });
  const { agent, model } = scriptedAgent(replies, { tools: [look], use: [arcReactor(), ...use] });
  const asked = (): readonly string[] =>
    model.requests.map(({ messages }) => textOf(messages.at(-1)!));
  return { agent, model, execute, asked };
}

const look = (out: string): ScriptedReply => ({ toolCalls: [{ name: 'look', input: { out } }] });
const correct = expect.stringContaining('correct the arguments');
const force = expect.stringContaining('Do not answer yet');
const otherWords = expect.stringContaining('other words');

test('without errorHints() and reuseResults(), arcReactor() (3.8.2) runs every failed or repeated tool call and gives no hint', async () => {
  const { agent, execute, asked } = setUp([look('fail'), look('a'), look('a'), 'done'], []);
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', text: 'done' });
  expect(execute).toHaveBeenCalledTimes(3);
  expect(asked()).toEqual(['go', '', '', '']);
});

test('after a failed tool call, the model gets a hint to correct the tool call, and the log has no hint', async () => {
  const { agent, model, asked } = setUp([look('fail'), look('a'), 'done'], [errorHints()]);
  expect(await agent.call('go')).toMatchObject({ text: 'done' });
  expect(asked()).toEqual(['go', correct, '']);
  for (const { messages } of model.requests) expect(requestFaults(messages)).toEqual([]);
  expect((await agent.messages()).map(textOf).join('')).toBe('godone');
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a tool call that failed while an operator was there gets a hint after the operator has left', async () => {
  const rules = approvals({ needsApproval: { look: true } });
  const { agent, asked } = setUp(
    [look('fail'), 'Sorry.', 'Sorry!', 'Really.'],
    [operator(), rules, errorHints()],
  );
  const [call] = (await agent.call('go')).pending;
  await agent.call(operatorMessage('I check this.', { name: 'Ann', action: 'join' }));
  await agent.call([{ toolUseId: call!.toolUseId, type: 'approve' }]);
  await agent.call(operatorMessage('Bye.', { name: 'Ann', action: 'leave' }));
  expect(asked()[1]).toEqual(correct);
});

test('a text after a failed tool call is discarded twice, and the third text is the answer', async () => {
  const { agent, asked } = setUp([look('fail'), 'Sorry.', 'Sorry!', 'Really.'], [errorHints()]);
  const resets: unknown[] = [];
  const stream = agent.stream('go');
  for await (const event of stream) if (event.type === 'step-reset') resets.push(event.replacement);
  expect((await stream.result).text).toBe('Really.');
  expect(resets).toHaveLength(2);
  expect(asked()).toEqual(['go', correct, force, force]);
  expect((await agent.messages()).map(textOf)).toEqual(['go', '', '', 'Really.']);
});

test('a new tool call ends the stricter hint, and at most two texts are discarded in a run', async () => {
  const replies = [look('fail'), 'No.', look('fail'), 'No.', look('fail'), 'Enough.'];
  const { agent, asked } = setUp(replies, [errorHints()]);
  expect(await agent.call('go')).toMatchObject({ text: 'Enough.' });
  expect(asked()).toEqual(['go', correct, force, correct, force, correct]);
});

test('a request without tools, after the limit of tool calls, gets no hint', async () => {
  const calls: ScriptedReply = {
    toolCalls: Array.from({ length: 10 }, () => ({ name: 'look', input: { out: 'fail' } })),
  };
  const { agent, asked } = setUp([calls, 'Sorry.'], [errorHints()]);
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'Sorry.' });
  expect(asked()).toEqual(['go', '']);
});

test.each([
  '{"total": 0, "x": []}',
  '{"results":[ ]}',
  '{"totalSize":0}',
  ' [ ] ',
  '{"a":{"issues":[]}}',
])('an empty search result gets a hint to use other words: %s', async (out) => {
  const { agent, asked } = setUp([look(out), 'None.'], [errorHints()]);
  expect(await agent.call('go')).toMatchObject({ text: 'None.' });
  expect(asked()).toEqual(['go', otherWords]);
});

test.each(['{"total":10}', '{"total":0.5}', '{"results":[1]}', 'nothing', '[1]'])(
  'a search result with entries gets no hint: %s',
  async (out) => {
    const { agent, asked } = setUp([look(out), 'Some.'], [errorHints()]);
    await agent.call('go');
    expect(asked()).toEqual(['go', '']);
  },
);

test('a text result that begins with "Error:" counts as a failed tool call', async () => {
  const { agent, asked } = setUp([look('Error: no'), look('a'), 'done'], [errorHints()]);
  await agent.call('go');
  expect(asked()).toEqual(['go', correct, '']);
});

test.each([
  ['a limit of model requests', { use: [errorHints(), modelRequestLimit({ run: 2 })] }],
  ['`limits.iterations`', { use: [errorHints()], limits: { iterations: 2 } }],
])('at %s, the withdrawn text is the answer', async (_what, options) => {
  const fail = tool({
    name: 'fail',
    description: '',
    input,
    execute: () => {
      throw new Error('no such city');
    },
  });
  const replies = [{ toolCalls: [{ name: 'fail' }] }, 'It is broken, call Ann.'];
  const { agent, model } = scriptedAgent(replies, { tools: [fail], ...options });
  expect(await agent.call('go')).toMatchObject({
    reason: 'stop',
    text: 'It is broken, call Ann.',
  });
  expect((await agent.messages()).map(textOf).at(-1)).toBe('It is broken, call Ann.');
  model.assertDone();
});

test('at a limit, an output mode reads the withdrawn text', async () => {
  const output = jsonMode(z.object({ n: z.number() }));
  const replies = [look('fail'), '{"n":1}'];
  const { agent } = setUp(replies, [errorHints(), modelRequestLimit({ run: 2 })]);
  expect(await agent.call('go', { output })).toMatchObject({ reason: 'stop', output: { n: 1 } });
});

test.each<[string, Middleware]>([
  ['that is final', { wrapReply: (reply, next) => next(finalOf(reply)) }],
  [
    'to a request without tools',
    {
      wrapRequest: (draft, next, { iteration }) =>
        next(iteration ? { ...draft, tools: [] } : draft),
    },
  ],
])('a reply %s is not withdrawn', async (_what, outer) => {
  const { agent, asked } = setUp([look('fail'), 'It is broken.'], [outer, errorHints()]);
  expect((await agent.call('go')).text).toBe('It is broken.');
  expect(asked()).toHaveLength(2);
});

function finalOf(reply: Reply): Reply {
  return reply.request ? { ...reply, isFinal: true } : reply;
}

test('a structured value is accepted as the answer after a failed tool call', async () => {
  const { agent } = setUp(
    [look('fail'), { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] }],
    [errorHints()],
  );
  const output = structured(z.object({ n: z.number() }));
  expect(await agent.call('go', { output })).toMatchObject({ output: { n: 1 } });
});

test('context policies after errorHints() count the hint, and keep it together with the newest results', async () => {
  const model = new ScriptedModel([look('fail'), look('a'), 'done']);
  const execute = (given: unknown): string => {
    if ((given as { readonly out: string }).out === 'fail') throw new Error('x'.repeat(2_000));
    return 'seen';
  };
  const counted: string[] = [];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [tool({ name: 'look', description: '', input, execute })],
    use: [
      errorHints(),
      {
        wrapRequest: (draft, next) => {
          counted.push(textOf(draft.messages.at(-1)!));
          return next(draft);
        },
      },
      fitContext({ window: 300, reserveOutput: 0 }),
    ],
  });
  await agent.call('go');
  expect(counted).toEqual(['go', correct, '']);
  expect(rolesOf(model.requests[1]!.messages)).toBe('user assistant tool user');
});
