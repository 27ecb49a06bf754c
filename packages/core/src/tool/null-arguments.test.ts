import { expect, test } from 'vitest';
import * as z from 'zod';
import { toolResultsOf } from '../message/msg.ts';
import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from './tool.ts';

// Some models send `null` or nothing as the arguments of a tool that has none.

/** Returns a model that calls the tool once with this text as its arguments. */
function modelThatCalls(name: string, text: string): ChatModel {
  const replies: ModelDelta[][] = [
    [{ type: 'tool-input', index: 0, name, delta: text }],
    [{ type: 'text', id: '0', delta: 'Done.' }],
  ];
  const { provider, modelId, features } = new ScriptedModel([]);
  return {
    provider,
    modelId,
    features,
    async *stream() {
      yield [...replies.shift()!, { type: 'finish', reason: 'stop' }];
    },
  };
}

const optional = { type: 'object', properties: { a: { type: 'string' } } } as const;

test.each([
  ['Zod', z.object({})],
  ['Zod, with an optional parameter', z.object({ a: z.string().optional() })],
  ['JSON Schema', { type: 'object', properties: {} }],
  ['JSON Schema, with an optional parameter', { ...optional, required: [] }],
  ['JSON Schema of any object', { type: 'object' }],
] as const)(
  'without required parameters, `null` and no text are no arguments: %s',
  async (_name, input) => {
    for (const text of ['', ' ', '{}', 'null', ' null\n']) {
      const got: unknown[] = [];
      const now = tool({
        name: 'now',
        description: '',
        input,
        execute: (args) => void got.push(args),
      });
      const agent = new ReActAgent({ name: 'a', model: modelThatCalls('now', text), tools: [now] });
      expect((await agent.call('go')).text).toBe('Done.');
      expect([text, got]).toEqual([text, [{}]]);
    }
  },
);

test.each([
  ['a required parameter', z.object({ city: z.string() }), 'null'],
  ['a list in place of an object', z.object({}), '[]'],
  ['a text in place of an object', z.object({}), '"null"'],
])('other arguments are checked as before: %s', async (_name, input, text) => {
  const look = tool({ name: 'look', description: '', input, execute: () => expect.unreachable() });
  const agent = new ReActAgent({ name: 'a', model: modelThatCalls('look', text), tools: [look] });
  await agent.call('go');
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  expect(result).toMatchObject({ state: 'error' });
});

test('a schema that takes `null` gets it', async () => {
  const got: unknown[] = [];
  const input = z.object({}).nullable();
  const now = tool({ name: 'now', description: '', input, execute: (args) => void got.push(args) });
  const agent = new ReActAgent({ name: 'a', model: modelThatCalls('now', 'null'), tools: [now] });
  await agent.call('go');
  expect(got).toEqual([null]);
});

test.each(['"Rome"', '5', '["Rome"]', '"{\\"a\\":\\"x\\"}"'])(
  'a tool with plain JSON Schema does not run with arguments that are not an object: %s',
  async (text) => {
    const got: unknown[] = [];
    const take = tool({
      name: 'take',
      description: '',
      input: optional,
      execute: (input) => void got.push(input),
    });
    const agent = new ReActAgent({ name: 'a', model: modelThatCalls('take', text), tools: [take] });
    await agent.call('Go');
    expect(got).toEqual([]);
    expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
      { state: 'error', output: expect.stringContaining('not an object') },
    ]);
  },
);
