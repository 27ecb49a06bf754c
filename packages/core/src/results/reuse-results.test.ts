import { expect, test, vi } from 'vitest';
import { textOf, toolResultsOf } from '../message/msg.ts';
import { arcReactor } from '@isoloop/presets';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { structured } from '../output/structured.ts';
import type { Middleware } from '../agent/middleware.ts';
import type { JsonObject } from '../message/json.ts';
import { toolList } from '../tool/set/tool-set.ts';
import { tool } from '../tool/tool.ts';
import { reuseResults, type ReuseResultsOptions } from './reuse-results.ts';

function setUp(replies: readonly ScriptedReply[], options?: ReuseResultsOptions) {
  const execute = vi.fn((given: unknown): string => {
    const { out } = given as { readonly out: string };
    if (out === 'fail') throw new Error('no such city');
    return out;
  });
  const tools = [tool({ name: 'look', description: '', input: { type: 'object' }, execute })];
  const model = new ScriptedModel(replies);
  const use = [arcReactor(), reuseResults(options)];
  const agent = new ReActAgent({ name: 'a', model, tools, use });
  return { agent, model, execute };
}

const look = (out: string): ScriptedReply => ({ toolCalls: [{ name: 'look', input: { out } }] });

test('a repeated tool call gets the earlier result, and the model has to answer', async () => {
  const { agent, model, execute } = setUp([look('a'), look('b'), look('a'), 'done']);
  expect(await agent.call('go')).toMatchObject({ text: 'done' });
  expect(execute).toHaveBeenCalledTimes(2);
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    'a',
    'b',
    'a',
  ]);
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([1, 1, 1, 0]);
  const asked = model.requests.map(({ messages }) => textOf(messages.at(-1)!));
  expect(asked).toEqual(['go', '', '', expect.stringContaining('Answer now')]);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect(textOf((await agent.messages()).at(-1)!)).toBe('done');
});

test('reuseResults() does not reuse failed calls, calls of an earlier run, or calls of tools outside the option `tools`', async () => {
  const replies = [look('fail'), look('fail'), look('a'), 'one', look('a'), 'two'];
  const { agent, execute } = setUp(replies);
  await agent.call('go');
  expect(await agent.call('again')).toMatchObject({ text: 'two' });
  expect(execute).toHaveBeenCalledTimes(4);
  const other = setUp([look('a'), look('a'), 'done'], { tools: ['find'] });
  await other.agent.call('go');
  expect(other.execute).toHaveBeenCalledTimes(2);
});

test('reuseResults() leaves out tools of middleware, unless `tools` names them', async () => {
  const execute = vi.fn(() => 'handed off');
  const addedTool = tool({ name: 'look', description: '', input: { type: 'object' }, execute });
  for (const [tools, count] of [
    [undefined, 2],
    [['look'], 1],
  ] as const) {
    execute.mockClear();
    const replies = [{ toolCalls: [{ name: 'look' }] }, { toolCalls: [{ name: 'look' }] }, 'done'];
    const model = new ScriptedModel(replies);
    const use = [reuseResults(tools && { tools }), { tools: [addedTool] }];
    await new ReActAgent({ name: 'a', model, use }).call('go');
    expect(execute).toHaveBeenCalledTimes(count);
  }
});

test('reuseResults() compares the tool itself, and the arguments whatever the order of their keys', async () => {
  const ran: string[] = [];
  const named = (from: string) =>
    tool({
      name: 'look',
      description: '',
      input: { type: 'object' },
      execute: () => (ran.push(from), from),
    });
  const call = (input: JsonObject): ScriptedReply => ({ toolCalls: [{ name: 'look', input }] });
  const model = new ScriptedModel([
    call({ a: 1, b: 2 }),
    call({ a: 1, b: 2 }),
    call({ b: 2, a: 1 }),
    'done',
  ]);
  const swap: Middleware = {
    wrapRequest: (draft, next, run) => {
      if (run.iteration === 1) run.tools.set(toolList([named('two')]));
      return next({ ...draft, tools: run.tools.schemas });
    },
  };
  const use = [reuseResults(), swap];
  await new ReActAgent({ name: 'a', model, tools: [named('one')], use }).call('go');
  expect(ran).toEqual(['one', 'two']);
});

test('reuseResults() keeps the results of two tools of one name that take turns', async () => {
  const ran: string[] = [];
  const [one, two] = ['one', 'two'].map((from) =>
    tool({
      name: 'look',
      description: '',
      input: { type: 'object' },
      execute: () => (ran.push(from), from),
    }),
  );
  const turns = [one!, two!, one!].map((turn) => toolList([turn]));
  const swap: Middleware = {
    wrapRequest: (draft, next, run) => {
      const turn = turns[run.iteration];
      if (turn) run.tools.set(turn);
      return next({ ...draft, tools: run.tools.schemas });
    },
  };
  const call: ScriptedReply = { toolCalls: [{ name: 'look' }] };
  const model = new ScriptedModel([call, call, call, 'done']);
  const agent = new ReActAgent({ name: 'a', model, use: [reuseResults(), swap] });
  await agent.call('go');
  expect(ran).toEqual(['one', 'two']);
  const outputs = (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output);
  expect(outputs).toEqual(['one', 'two', 'one']);
});

test('reuseResults() rejects invalid options', () => {
  expect(() => reuseResults({ tools: 'look' as never })).toThrow('reuseResults(): tools must be');
  expect(() => reuseResults({ tools: [1 as never] })).toThrow(
    'reuseResults(): tools must be an array of strings',
  );
});

test('after a repeated tool call, the model can still give a structured value', async () => {
  const value: ScriptedReply = { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] };
  const { agent, model } = setUp([look('a'), look('a'), value]);
  const output = structured({ type: 'object' });
  expect(await agent.call('go', { output })).toMatchObject({ output: { n: 1 } });
  expect(model.requests[2]!.tools.map(({ name }) => name)).toEqual(['generate_response']);
});
