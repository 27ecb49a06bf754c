import { attach } from '@isoloop/core/event';
import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  type AgentErrorCode,
  type AgentEvent,
  assistantMessage,
  userMessage,
  toolResultsOf,
  type JsonObject,
  listSessions,
  InMemoryMemory,
  tool,
  type Tool,
  type ToolOptions,
  ReActAgent,
  type AgentOptions,
} from '@isoloop/core';
import { closeOpenCalls } from '@isoloop/core/approval';
import { httpProviders } from '../../support/providers.ts';
import { openai } from '@isoloop/core/openai';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { Toolkit } from '@isoloop/core/tool';
import { agentTool } from '@isoloop/core/several';
import { summarize } from '@isoloop/core/answer';
import { longTermMemory } from '@isoloop/recall';
import { structured } from '@isoloop/core/output';
import { scriptedAgent } from '../../support/scripted-agent.ts';

/** Passes a value of the wrong type, as JavaScript code or parsed JSON may do. */
const wrong = <T>(value: unknown): T => value as T;
const failure = (code: AgentErrorCode, message: string) =>
  expect.objectContaining({ name: 'AgentError', code, message: expect.stringContaining(message) });

const noop = tool({
  name: 'noop',
  description: 'Does nothing',
  input: { type: 'object' },
  execute: () => 'done',
});
const call: ScriptedReply = { toolCalls: [{ name: 'noop' }] };

function setUp(replies: readonly ScriptedReply[] = ['hi'], options: Partial<AgentOptions> = {}) {
  return scriptedAgent(replies, options);
}

test.each<[option: string, options: unknown]>([
  ['name', { name: 5 }],
  ['systemPrompt', { systemPrompt: () => 'x' }],
  ['model', { model: undefined }],
  ['model', { model: 'gpt' }],
  ['features', { model: { stream: () => [] } }],
  ['tools', { tools: 'x' }],
  ['tools', { tools: null }],
  ['A tool', { tools: [null] }],
  [
    'A tool made without tool(): schema',
    { tools: [{ name: 'plain', description: '', input: { type: 'object' } }] },
  ],
  ['use', { use: () => {} }],
  ['use', { use: {} }],
  ['A middleware', { use: [null] }],
  ['A middleware', { use: [[null]] }],
  ['onError', { use: [{ onError: 'throw' }] }],
  ['A middleware: tools', { use: [{ tools: 'x' }] }],
  ['memory', { memory: {} }],
  ['iterations', { limits: { iterations: -1 } }],
  ['iterations', { limits: { iterations: Number.NaN } }],
  ['iterations', { limits: { iterations: '3' } }],
  ['parallelTools', { limits: { parallelTools: Number.NaN } }],
  ['whenBusy', { whenBusy: 'wait' }],
  ['presetPriority', { presetPriority: 'x' }],
  ['preCallHooks', { preCallHooks: 'x' }],
  ['retrievalRole', { retrievalRole: 'tool' }],
  ['recoveryMessage', { recoveryMessage: 5 }],
  ['onLimit', { onLimit: 'stop' }],
  ['context', { context: {} }],
  ['toolContext', { toolContext: { db: 1 } }],
])('the constructor rejects an invalid %s: %j', (option, options) => {
  expect(() => setUp([], wrong(options))).toThrow(failure('CONFIGURATION', option));
});

test('the constructor rejects missing options', () => {
  expect(() => new ReActAgent(wrong<AgentOptions>(undefined))).toThrow(
    failure('CONFIGURATION', 'ReActAgent must be an object'),
  );
});

test.each<[part: object, message: string]>([
  [{ on: { 'pre-actng': () => {} } }, 'on has no option `pre-actng`. It has: '],
  [{ on: { preReasoning: () => {} } }, 'on has no option `preReasoning`. It has: '],
  [{ on: { post_acting: () => {} } }, 'on has no option `post_acting`. It has: '],
  [
    { on: { 'pre-acting': { handler: () => {} } } },
    'on: pre-acting has no option `handler`. It has: ',
  ],
  [{ on: { 'pre-acting': 'x' } }, 'The options of on: pre-acting must be an object'],
  [{ defaults: { limits: { iterations: 'x' } } }, 'limits: iterations must be'],
  [{ defaults: { limits: { iteration: 1 } } }, 'sets `iteration`, which ReActAgent does not have'],
  [{ defaults: { recovery: 'x' } }, 'sets `recovery`, which ReActAgent does not have'],
])(
  'the constructor rejects middleware with a field that would have no effect: %j',
  (part, message) => {
    for (const use of [[part], [[part]]]) {
      expect(() => setUp([], wrong({ use }))).toThrow(failure('CONFIGURATION', message));
    }
  },
);

test('addHook rejects middleware that is not a hook', () => {
  expect(() => setUp().agent.addHook(wrong({ wrapRun: () => {} }))).toThrow(
    failure('CONFIGURATION', 'addHook() has no option `wrapRun`'),
  );
});

test.each([null, { on: 'x' }, { onEvent: () => {} }])('addHook rejects %j', (hook) => {
  expect(() => setUp().agent.addHook(wrong(hook))).toThrow(failure('CONFIGURATION', 'addHook()'));
});

test.each<[what: string, options: unknown]>([
  ['must be an object; got null', null],
  ['signal', { signal: new AbortController() }],
  ['allowTools', { allowTools: 'noop' }],
  ['output', { output: { type: 'object' } }],
  ['context', { context: { db: 1 } }],
])(
  'call() and stream() reject invalid options before any model request: %s',
  async (what, options) => {
    const { agent, model } = setUp();
    await expect(agent.call('x', wrong<object>(options))).rejects.toThrow(
      failure('INVALID_INPUT', what),
    );
    expect(() => agent.stream('x', wrong<object>(options))).toThrow(failure('INVALID_INPUT', what));
    expect(model.requests).toEqual([]);
    expect(await agent.messages()).toEqual([]);
  },
);

test.each<unknown>([
  null,
  42,
  {},
  { id: '1', role: 'user' },
  { id: '1', role: 'user', content: 'x' },
  { id: '1', role: 'user', content: [null] },
  { id: '1', role: 'user', content: [{ type: 'text' }] },
  { id: '1', role: 'user', content: [{ type: 'image', source: { type: 'url' } }] },
  { id: '1', role: 'robot', content: [{ type: 'text', text: 'x' }] },
  { role: 'user', content: [{ type: 'text', text: 'x' }] },
])(
  'call(), observe() and interrupt() reject an invalid message and store nothing: %j',
  async (message) => {
    const { agent } = setUp([{ text: 'one two' }]);
    const error = failure('INVALID_INPUT', 'Item 1');
    await expect(agent.call(wrong([userMessage('x'), message]))).rejects.toThrow(error);
    await expect(agent.observe(wrong([userMessage('x'), message]))).rejects.toThrow(error);
    expect(() =>
      agent.interrupt(wrong({ mode: 'inject', messages: [userMessage('x'), message] })),
    ).toThrow(error);
    expect(await agent.messages()).toEqual([]);
  },
);

test.each<unknown>(['', ' \n', 42, null, [{ toolUseId: '1', type: 'maybe' }]])(
  'with `throwOnError: false`, invalid input ends the call with an error result: %j',
  async (input) => {
    const { agent } = setUp(['fine']);
    const options = { throwOnError: false };
    expect(await agent.call(wrong(input), options)).toMatchObject({
      reason: 'error',
      error: { code: 'INVALID_INPUT' },
      iterations: 0,
    });
    const events: AgentEvent[] = [];
    for await (const event of agent.stream(wrong(input), options)) events.push(event);
    expect(events.map(({ type }) => type)).toEqual(['run-start', 'error', 'run-end']);
    expect(() => agent.stream(wrong(input))).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
    await expect(agent.call('x', wrong<object>({ ...options, signal: 5 }))).rejects.toThrow(
      failure('INVALID_INPUT', 'signal'),
    );
    expect([agent.busy, await agent.messages()]).toEqual([false, []]);
    expect((await agent.call('x')).text).toBe('fine');
  },
);

test.each<[what: string, request: unknown]>([
  ['interrupt()', null],
  ['interrupt()', 5],
  ['mode', { mode: 'halt' }],
  ['message', { message: 5 }],
  ['empty', ' '],
  ['empty', { message: '' }],
  ['Item 0', { message: {} }],
  ['Item 0', { role: 'assistant' }],
  ['messages', { mode: 'inject' }],
  ['decisions', { mode: 'inject', messages: [{ toolUseId: '1', type: 'approve' }] }],
])(
  'interrupt() rejects an invalid request, and the run continues: %s, %j',
  async (what, request) => {
    const { agent } = setUp(['one two']);
    for await (const { type } of agent.stream('x')) {
      if (type === 'reasoning-chunk')
        expect(() => agent.interrupt(wrong(request))).toThrow(failure('INVALID_INPUT', what));
    }
    expect((await agent.messages()).at(-1)?.content).toEqual([{ type: 'text', text: 'one two' }]);
  },
);

test('observe() rejects decisions', async () => {
  const { agent } = setUp();
  await expect(agent.observe(wrong([{ toolUseId: '1', type: 'approve' }]))).rejects.toThrow(
    failure('INVALID_INPUT', 'decisions'),
  );
});

test.each<unknown>([
  { type: 'result' },
  { type: 'result', output: 5 },
  { type: 'result', output: { degrees: 5 } },
  { type: 'result', output: [{ degrees: 5 }] },
  { type: 'result', output: 'x', state: 'fine' },
  { type: 'edit' },
  { type: 'allow' },
])('an invalid decision is rejected, and the tool call stays open: %j', async (decision) => {
  const external = tool({
    name: 'noop',
    description: 'Somebody else does it',
    input: { type: 'object' },
  });
  const { agent } = setUp([call, 'done'], { tools: [external] });
  const { pending } = await agent.call('x');
  const { toolUseId } = pending[0]!;
  await expect(agent.call(wrong([{ toolUseId, ...Object(decision) }]))).rejects.toThrow(
    failure('INVALID_INPUT', 'Item 0'),
  );
  expect(await agent.call([{ toolUseId, type: 'result', output: 'x' }])).toMatchObject({
    reason: 'stop',
    text: 'done',
  });
});

test.each<[type: AgentEvent['type'], field: string, value: unknown]>([
  ['pre-call', 'input', undefined],
  ['pre-call', 'input', [{ role: 'user' }]],
  ['pre-reasoning', 'messages', null],
  ['pre-reasoning', 'tools', {}],
  ['pre-reasoning', 'options', null],
  ['post-reasoning', 'message', undefined],
  ['post-reasoning', 'message', { content: 'x' }],
  ['pre-acting', 'toolUse', {}],
  ['pre-acting', 'toolUse', { type: 'text', text: 'noop' }],
  ['pre-acting', 'toolUse', { type: 'tool_use', id: 'call_1', input: {} }],
  ['post-acting', 'result', undefined],
  ['post-acting', 'result', { type: 'tool_result', toolUseId: 'call_1', output: 5 }],
  ['post-call', 'message', {}],
  ['pre-summary', 'messages', [null]],
  ['post-summary', 'message', null],
])('an agent validates the event that a hook returns for %s: %s %j', async (type, field, value) => {
  const spoil = (event: AgentEvent) =>
    event.type === type ? wrong<AgentEvent>({ ...event, [field]: value }) : undefined;
  const limits = type.endsWith('summary') ? { iterations: 1 } : {};
  const use = [
    { name: 'before' },
    { name: 'spoiler', on: { '*': spoil } },
    { on: { '*': () => {} } },
  ];
  const { agent } = setUp([call, 'done'], { tools: [noop], limits, use });
  await expect(agent.call('x')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    message: expect.stringContaining(
      `Hook "spoiler" must return valid \`${field}\` at ${type}.`,
    ) as string,
    details: { hook: 'spoiler', event: type, field },
  });
  for (const message of await agent.messages())
    expect(toolResultsOf(message).map(({ output }) => output)).not.toContain(5);
});

test('gotoReasoning() rejects an invalid message', async () => {
  const again = (more: unknown) =>
    [
      { on: { 'post-reasoning': ({ gotoReasoning }) => gotoReasoning(wrong(more)) } },
    ] satisfies AgentOptions['use'];
  const { agent } = setUp(['one'], { use: [...again([{ role: 'user' }])] });
  await expect(agent.call('x')).rejects.toThrow(failure('INVALID_INPUT', 'Item 0'));
});

test('closeOpenCalls() adds a missing tool result to the given memory before the model request', async () => {
  const asked = assistantMessage([{ type: 'tool_use', id: 'c', name: 'noop', input: {} }]);
  const memory = new InMemoryMemory([userMessage('x'), asked]);
  const { agent, model } = setUp(undefined, { memory, use: [closeOpenCalls()] });
  await agent.call(userMessage('y'));
  expect(model.requests.flatMap(({ messages }) => requestFaults(messages))).toEqual([]);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test.each<[what: string, output: unknown]>([
  ['a search result', { content: [{ title: 'A page', source: 'the web' }] }],
  ['a medium without its bytes', { content: [{ type: 'image', source: null }] }],
  ['a text block without a text', { content: [{ type: 'text', text: 5 }] }],
])('a tool output that contains %s is sent to the model as JSON', async (_what, output) => {
  const { agent } = setUp([call, 'done'], {
    tools: [
      tool({
        ...noop,
        input: { type: 'object' },
        description: '',
        execute: () => wrong<object>(output),
      }),
    ],
  });
  await agent.call('x');
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'success', output: JSON.stringify(output) },
  ]);
  const sent: string[] = [];
  const fetch = async (_url: string, { body }: RequestInit) => {
    sent.push(String(body));
    return new Response(
      'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    );
  };
  const other = new ReActAgent({
    name: 'b',
    model: openai({ model: 'm', fetch }),
    memory: agent.memory,
  });
  expect((await other.call('and now?')).text).toBe('hi');
  expect(sent).toHaveLength(1);
});

const throwing = {
  'a schema': tool({
    name: 'fails',
    description: '',
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        jsonSchema: { input: () => ({ type: 'object' }) },
        validate: () => {
          throw new Error('no such date');
        },
      },
    },
    execute: () => 'ran',
  }),
  'a predicate': tool({
    name: 'fails',
    description: '',
    input: { type: 'object' },
    needsApproval: () => {
      throw new Error('no such date');
    },
    execute: () => 'ran',
  }),
};

test.each(Object.entries(throwing))(
  '%s that throws causes an error result for its own tool call only',
  async (_what, fails) => {
    const { agent } = setUp([{ toolCalls: [{ name: 'fails' }, { name: 'noop' }] }, 'done'], {
      tools: [fails, noop],
    });
    expect(await agent.call('x')).toMatchObject({ reason: 'stop', text: 'done' });
    expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
      { name: 'fails', state: 'error', output: 'Error: no such date' },
      { name: 'noop', state: 'success' },
    ]);
  },
);

test('tool() rejects a date in its schema and names the form that works', async () => {
  const booking = (day: z.ZodType<unknown>) =>
    tool({
      name: 'book',
      description: '',
      input: z.object({ day }),
      execute: (input) => (input.day instanceof Date ? input.day.getTime() : String(input.day)),
    });
  const message = 'The input of the tool "book" has no JSON Schema: Date';
  for (const day of [z.date(), z.coerce.date()])
    expect(() => booking(day)).toThrow(failure('CONFIGURATION', message));
  expect(() => booking(z.date())).toThrow('For a date, use z.iso.datetime().');
  const toolCalls = [{ name: 'book', input: { day: '2026-01-02T03:04:05Z' } }];
  for (const day of [z.iso.datetime(), z.iso.datetime().pipe(z.coerce.date())]) {
    const { agent } = setUp([{ toolCalls }, 'done'], { tools: [booking(day)] });
    await agent.call('x');
    expect((await agent.messages()).flatMap(toolResultsOf)[0]!.output).toMatch(/^(2026|1767)/);
  }
});

test('a factory of agentTool() that returns no agent causes an error with the tool’s name', async () => {
  const child = agentTool(() => wrong({}), { name: 'child', description: '' });
  const { agent } = setUp(
    [{ toolCalls: [{ name: 'call_child', input: { message: 'x' } }] }, 'done'],
    { tools: [child] },
  );
  await agent.call('x');
  expect((await agent.messages()).flatMap(toolResultsOf)[0]!.output).toContain(
    'call_child: the value from its factory: name must be a string',
  );
});

test('interrupt() returns false once the answer is complete', async () => {
  const told: boolean[] = [];
  const { agent } = setUp(['done'], {
    use: [{ on: { 'post-call': () => void told.push(agent.interrupt()) } }],
  });
  expect((await agent.call('x')).reason).toBe('stop');
  expect(told).toEqual([false]);
});

const input = { type: 'object' };

const toolOf = (options: unknown) => tool(wrong<ToolOptions<JsonObject>>(options));

test.each<[what: string, make: () => unknown]>([
  ['tool() must be an object', () => toolOf(undefined)],
  ['tool(): name', () => toolOf({ description: '', input })],
  ['tool(): description', () => toolOf({ name: 'a', input })],
  ['tool(): input', () => toolOf({ name: 'a', description: '' })],
  ['tool(): execute', () => toolOf({ name: 'a', description: '', input, execute: 'x' })],
  ['tool(): timeoutMs', () => tool({ name: 'a', description: '', input, timeoutMs: -1 })],
  [
    'tool(): needsApproval',
    () => toolOf({ name: 'a', description: '', input, needsApproval: 'yes' }),
  ],
  ['tool(): replay', () => toolOf({ name: 'a', description: '', input, replay: 'always' })],
  ['tool(): preset', () => toolOf({ name: 'a', description: '', input, preset: 5 })],
  [
    'A tool made without tool() must be an object',
    () => new Toolkit(wrong<readonly Tool[]>([null])),
  ],
  ['Toolkit: tools', () => new Toolkit(wrong<readonly Tool[]>({ noop }))],
  ['Toolkit must be an object', () => new Toolkit([], wrong(null))],
  ['Toolkit: groups', () => new Toolkit([], wrong({ groups: { web: {} } }))],
  ['Toolkit: toolContext', () => new Toolkit([], wrong({ toolContext: { db: 1 } }))],
  ['Toolkit: allowDeletion', () => new Toolkit([], wrong({ allowDeletion: 'no' }))],
  ['Toolkit: presetPriority', () => new Toolkit([], wrong({ presetPriority: 'tool' }))],
  ['A tool made without tool(): schema', () => new Toolkit().add(wrong({ name: 'a', input }))],
  ['A tool group must be an object', () => new Toolkit().createGroup(wrong(undefined))],
  [
    'A tool group: active',
    () => new Toolkit([], { groups: [wrong({ name: 'g', description: '', active: 'no' })] }),
  ],
  ['agentTool() must be an object', () => agentTool(setUp().agent, wrong(undefined))],
  ['agentTool(): the agent: name', () => agentTool(wrong({}), { description: '' })],
  ['The options of openai() must be an object', () => openai(wrong(undefined))],
  ['openai(): model', () => openai(wrong({}))],
  ['openai(): timeoutMs', () => openai({ model: 'm', timeoutMs: Number.NaN })],
  ...httpProviders.map(
    ({ name, model }) =>
      [
        `${name}(): baseURL`,
        () => model(wrong({ model: 'm', baseURL: new URL('https://example.com') })),
      ] as [string, () => unknown],
  ),
])('an invalid argument causes a CONFIGURATION error: %s', (what, make) => {
  expect(make).toThrow(failure('CONFIGURATION', what));
});

test('Toolkit rejects group names that are not an array, and an `active` value that is not a boolean', () => {
  const kit = new Toolkit([], { groups: [{ name: 'g', description: '' }] });
  expect(() => kit.updateGroups(wrong('g'), false)).toThrow(
    failure('INVALID_INPUT', 'names must be an array'),
  );
  expect(() => kit.updateGroups(['g'], wrong(undefined))).toThrow(
    failure('INVALID_INPUT', 'active must be a boolean'),
  );
  expect(() => kit.setActiveGroups(wrong(null))).toThrow(
    failure('INVALID_INPUT', 'names must be an array'),
  );
  expect(kit.activeGroups()).toEqual(['g']);
});

test.each([
  ['longTermMemory()', () => longTermMemory(undefined as never)],
  ['longTermMemory(null)', () => longTermMemory(null as never)],
  [
    'a `select` that is not a function',
    () => longTermMemory({ memory: { retrieve() {}, record() {} }, select: 1 } as never),
  ],
  ['structured(schema, null)', () => structured(z.object({}), null as never)],
  ['a `mode` without a JSON form', () => structured(z.object({}), { mode: 1n } as never)],
  [
    '`attempts` without a text form',
    () => structured(z.object({}), { attempts: Symbol('x') } as never),
  ],
  ['summarize(null)', () => summarize(null as never)],
  ['a `prompt` that is not a text', () => summarize({ prompt: 5 } as never)],
])('a CONFIGURATION error is thrown for %s', (_what, make) => {
  expect(make).toThrow(expect.objectContaining({ name: 'AgentError', code: 'CONFIGURATION' }));
});

test('attach() rejects invalid options', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['ok']) });
  const stream = agent.stream('Hi', { detached: true });
  await stream.result;
  for (const options of [null, { afterSeq: 'x' }, { runId: 5 }]) {
    expect(() => attach(agent, options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
  }
  expect(attach(agent, { afterSeq: 0 })).not.toBeNull();
});

test.each([[undefined], ['./chats'], [new Map()]])(
  'listSessions() refuses %j as a store',
  async (store) => {
    await expect(listSessions(wrong(store))).rejects.toThrow(
      failure('INVALID_INPUT', 'listSessions(): the store'),
    );
  },
);

test.for([
  ['wrapRequst', 'It has: '],
  ['onEvent', 'It has: '],
  ['wrapLimit', 'It has: name, on, onError, priority, defaults, tools, mapEvent'],
] as const)('a middleware with the unknown wrapper %s is refused', ([member, advice]) => {
  for (const others of [{}, { on: {} }]) {
    const part = { ...others, [member]: () => {} };
    const options = { name: 'a', model: new ScriptedModel([]), use: [part] };
    expect(() => new ReActAgent(options)).toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        message: expect.stringContaining(`A middleware has no option \`${member}\`. ${advice}`),
      }),
    );
  }
});
