import { expect, test } from 'vitest';
import * as z from 'zod';
import { outputText, toolResultsOf, type Msg } from '../message/msg.ts';
import type { JsonValue } from '../message/json.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { agentscope } from '@isoloop/presets';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { tool, type ToolOptions } from './tool.ts';
import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import type { Middleware } from '../agent/middleware.ts';
import { approvals } from '../approval/approvals.ts';
import { withExecute } from './tool-call.ts';

/** Returns the arguments that the tool gets, or the text of its error result. */
async function given(
  input: ToolOptions<z.ZodType>['input'],
  args: JsonValue,
  {
    preset,
    use,
  }: { preset?: ToolOptions<z.ZodType>['preset']; use?: [ReturnType<typeof agentscope>] } = {},
): Promise<unknown> {
  let got: unknown;
  const asked: unknown[] = [];
  const echo = tool({
    name: 'echo',
    description: '',
    input,
    ...(preset && { preset }),
    needsApproval: (checked) => {
      asked.push(checked);
      return false;
    },
    execute: (checked) => void (got = checked),
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'echo', input: args }] }, 'done'], {
    tools: [echo],
    use: use ?? [],
  });
  await agent.call('go');
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  if (result!.state === 'error') return outputText(result!.output);
  expect(asked).toEqual([got]);
  return got;
}

const address = z.object({ city: z.string(), zip: z.string().optional() });
const chapter = z.object({
  标题: z.string().optional(),
  get parts() {
    return z.array(chapter).optional();
  },
});

test.for<[what: string, input: z.ZodType, args: JsonValue, expected: unknown]>([
  ['an optional argument', z.object({ a: z.string().optional() }), { a: null }, {}],
  ['an argument with a default', z.object({ a: z.number().default(5) }), { a: null }, { a: 5 }],
  ['an argument of a strict object', z.strictObject({ a: z.string().optional() }), { a: null }, {}],
  [
    'an optional argument beside others',
    z.object({ a: z.string(), b: z.enum(['x']).optional() }),
    { a: 'A', b: null },
    { a: 'A' },
  ],
  [
    'an optional field of an object',
    z.object({ at: address }),
    { at: { city: 'C', zip: null } },
    { at: { city: 'C' } },
  ],
  [
    'an optional field in a list',
    z.object({ at: z.array(address) }),
    {
      at: [
        { city: 'C', zip: null },
        { city: 'D', zip: '1' },
      ],
    },
    { at: [{ city: 'C' }, { city: 'D', zip: '1' }] },
  ],
  [
    'an optional field of an object that may be null',
    z.object({ at: address.nullish() }),
    { at: { city: 'C', zip: null } },
    { at: { city: 'C' } },
  ],
  [
    'an optional field in a list that may be null',
    z.object({ at: z.array(address).nullable() }),
    { at: [{ city: 'C', zip: null }] },
    { at: [{ city: 'C' }] },
  ],
  [
    'an optional field of a recursive type',
    z.object({ book: chapter }),
    { book: { 标题: null, parts: [{ 标题: '一', parts: null }] } },
    { book: { parts: [{ 标题: '一' }] } },
  ],
  [
    'an optional field in a tuple',
    z.object({ at: z.tuple([z.string(), address]) }),
    { at: ['A', { city: 'C', zip: null }] },
    { at: ['A', { city: 'C' }] },
  ],
  [
    'an optional field of the second type of a union',
    z.object({
      at: z.union([
        z.object({ kind: z.literal('a'), note: z.string() }),
        z.object({ kind: z.literal('b'), note: z.string().optional(), zip: z.string().optional() }),
      ]),
    }),
    { at: { kind: 'b', note: null, zip: null } },
    { at: { kind: 'b' } },
  ],
  [
    'an optional field of a union beside a required one that may be null',
    z.object({
      at: z.union([
        z.object({ kind: z.literal('a') }),
        z.object({
          kind: z.literal('b'),
          zip: z.string().optional(),
          note: z.string().nullable(),
        }),
      ]),
    }),
    { at: { kind: 'b', zip: null, note: null } },
    { at: { kind: 'b', note: null } },
  ],
])('drops a null for %s', async ([, input, args, expected]) => {
  expect(await given(input, args)).toEqual(expected);
});

test('keeps a null that the schema allows, also beside one that it drops', async () => {
  const input = z.object({
    a: z.string().nullish(),
    b: z.string().optional(),
    c: z.union([z.null(), z.number()]).optional(),
    d: z.unknown().optional(),
  });
  const nulls = { a: null, b: null, c: null, d: null };
  expect(await given(input, nulls)).toEqual({ a: null, c: null, d: null });
  expect(await given(input, { a: null })).toEqual({ a: null });
});

test('a null in a list stays an error, because without it the other items would move', async () => {
  const input = z.object({ at: z.array(z.string()) });
  expect(await given(input, { at: ['A', null, 'C'] })).toContain('- at.1: ');
});

test('a null for a required argument is an error about the arguments as the model sent them', async () => {
  const input = z.object({ a: z.string(), b: z.string().optional(), c: z.string().nullable() });
  const text = await given(input, { a: null, b: null, c: null });
  expect(text).toMatch(/- a: .*\n- b: /);
  expect(text).not.toContain('undefined');
  expect(text).not.toContain('- c: ');
});

/** Returns a schema that rejects objects for which `isWrong` is true, at the given place. */
function rejectedAt(path: readonly string[], isWrong: (value: object) => boolean): z.ZodType {
  return z.looseObject({}).superRefine((value, context) => {
    if (isWrong(value)) context.addIssue({ code: 'custom', path: [...path], message: 'wrong' });
  });
}

test('drops a null if the schema rejects a place inside of it', async () => {
  const input = rejectedAt(['at', 'city'], (value) => 'at' in value);
  expect(await given(input, { at: null })).toEqual({});
});

test('drops only own fields of the arguments, whatever place the schema names', async () => {
  const inherited = ['__proto__', '__proto__'];
  expect(
    await given(
      rejectedAt(inherited, () => true),
      {},
    ),
  ).toContain('wrong');
  expect(Object.hasOwn(Object.prototype, '__proto__')).toBe(true);
});

test('a rule about an object is reported, although the object has an allowed null', async () => {
  const at = z
    .object({ city: z.string(), zip: z.string().nullable() })
    .refine(({ city }) => city !== 'X', 'There is no city X.');
  const text = await given(z.object({ at }), { at: { city: 'X', zip: null } });
  expect(text).toContain('- at: There is no city X.');
});

test('a wrong value is still an error, and an argument that is not in the schema stays', async () => {
  const input = z.strictObject({ a: z.string().optional() });
  expect(await given(input, { a: 5 })).toContain('- a: ');
  expect(await given(input, { other: null })).toContain('other');
});

test('drops nulls with JSON Schema too, and keeps them in each way to allow null', async () => {
  const input = jsonSchema({
    type: 'object',
    properties: {
      a: { type: 'string' },
      b: { type: ['string', 'null'] },
      c: { enum: ['x', null] },
      d: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
  });
  const nulls = { a: null, b: null, c: null, d: null };
  expect(await given(input as never, nulls)).toEqual({ b: null, c: null, d: null });
});

test('follows references within JSON Schema, also to a type that allows null or refers to itself', async () => {
  const input = jsonSchema({
    type: 'object',
    properties: {
      from: { $ref: '#/$defs/place' },
      to: { anyOf: [{ $ref: '#/$defs/place' }, { type: 'null' }] },
      note: { $ref: '#/$defs/note' },
      loop: { $ref: '#/$defs/loop' },
    },
    $defs: {
      place: { type: 'object', properties: { zip: { type: 'string' }, at: { $ref: '#' } } },
      note: { type: ['string', 'null'] },
      loop: { anyOf: [{ $ref: '#/$defs/loop' }, { type: 'string' }] },
    },
  });
  const args = { from: { zip: null, at: { from: { zip: null } } }, to: { zip: null }, note: null };
  expect(await given(input as never, args)).toEqual({
    from: { at: { from: {} } },
    to: {},
    note: null,
  });
  expect(await given(input as never, { from: null })).toEqual({});
});

test('a null from the model does not replace a preset value', async () => {
  const input = z.object({ query: z.string(), user: z.string() });
  const args = { query: 'x', user: null };
  const options = { preset: { user: 'preset' }, use: [agentscope()] } as const;
  expect(await given(input, args, options as never)).toEqual({ query: 'x', user: 'preset' });
});

test('the log keeps the arguments as the model sent them', async () => {
  const echo = tool({
    name: 'echo',
    description: '',
    input: z.object({ a: z.string().optional() }),
    execute: (input) => input,
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'echo', input: { a: null } }] }, 'done'], {
    tools: [echo],
  });
  const problems: unknown[] = [];
  agent.addHook({ on: { 'pre-acting': (event) => void problems.push(event.problem) } });
  await agent.call('go');
  expect(problems).toEqual([undefined]);
  expect((await agent.messages())[1]!.content).toMatchObject([{ input: { a: null } }]);
});

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

/** Returns middleware that says in the result that it ran around the tool. */
function around(name: string): Middleware {
  return {
    name,
    wrapTool: (call, next) =>
      next(
        withExecute(call, async (execute, input, context) => {
          return `${name}(${String(await execute(input, context))})`;
        }),
      ),
  };
}

const counter = {
  ...tool({ name: 'count', description: '', input: { type: 'object' } }),
  step: 2,
  execute(input: unknown): string {
    return String(this.step * Number(Object(input)['n']));
  },
};

function outputsOf(messages: readonly Msg[]): readonly unknown[] {
  return messages.flatMap(toolResultsOf).map(({ output }) => output);
}

test('of several functions around a tool, that of the first middleware is the outermost', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'count', input: { n: 1 } }] }, 'done'], {
    tools: [counter],
    use: [around('first'), around('second')],
  });
  await agent.call('Go');
  expect(outputsOf(await agent.messages())).toEqual(['first(second(2))']);
});

test('the functions around a tool also run around a call with edited arguments', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'count', input: { n: 1 } }] }, 'done'], {
    tools: [counter],
    use: [
      around('outside'),
      approvals({
        needsApproval: { count: true },
        decide: () => ({ type: 'edit', input: { n: 5 } }),
      }),
      around('inside'),
    ],
  });
  await agent.call('Go');
  expect(outputsOf(await agent.messages())).toEqual(['outside(inside(10))']);
});

test('a tool that returns a thenable runs once, also if each then() runs it', async () => {
  let runs = 0;
  const query = {
    // oxlint-disable-next-line unicorn/no-thenable -- the test is about a thenable
    then(resolve: (value: string) => void) {
      runs += 1;
      resolve(`run ${runs}`);
    },
  };
  const insert = tool({
    name: 'insert',
    description: '',
    input: { type: 'object' },
    execute: () => query as unknown as Promise<string>,
  });
  const passOn: Middleware = {
    wrapTool: (call, next) =>
      next(withExecute(call, (execute, input, context) => execute(input, context))),
  };
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'insert' }] }, 'done'], {
    tools: [insert],
    use: [passOn],
  });
  await agent.call('Go');
  expect(outputsOf(await agent.messages())).toEqual(['run 1']);
});

test('the functions around a tool are not called for a tool without execute', async () => {
  const ask = tool({ name: 'ask', description: '', input: { type: 'object' } });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'ask' }] }, 'done'], {
    tools: [ask],
    use: [around('first')],
  });
  const [call] = (await agent.call('Go')).pending;
  const { toolUseId, name, kind } = call!;
  expect(kind).toBe('external');
  await agent.call([{ type: 'result', toolUseId, name, output: 'here' }]);
  expect(outputsOf(await agent.messages())).toEqual(['here']);
});
