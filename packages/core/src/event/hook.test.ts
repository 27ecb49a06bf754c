import { agentscope } from '@isoloop/presets';
import { closeOpenCalls } from '../approval/close-open-calls.ts';
import { expect, test } from 'vitest';
import { prepending } from '@test/support/prepending.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import {
  systemMessage,
  toolMessage,
  userMessage,
  textOf,
  toolResultsOf,
  toolUsesOf,
  type Msg,
} from '../message/msg.ts';
import { requestFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';
import type { Hook } from './hook.ts';

const input = { type: 'object', properties: { n: { type: 'number' } } } as const;
const ran: unknown[] = [];
const echo = tool({
  name: 'echo',
  description: 'Gives back',
  input,
  execute: (value, { emit }) => {
    ran.push(value);
    emit('echoing');
    return JSON.stringify(value);
  },
});
const external = tool({ name: 'external', description: 'Runs elsewhere', input });

function setUp(
  replies: readonly ScriptedReply[],
  hooks: readonly Hook[],
  options: Partial<AgentOptions> = {},
) {
  ran.length = 0;
  return scriptedAgent(replies, {
    tools: [echo, external],
    ...options,
    use: [...hooks, ...(options.use ?? [])],
  });
}

const echoes = (...numbers: number[]): ScriptedReply => ({
  toolCalls: numbers.map((n) => ({ name: 'echo', input: { n } })),
});
const withText = (message: Msg, text: string): Msg => ({
  ...message,
  content: [{ type: 'text', text }],
});

const everyType: readonly AgentEvent['type'][] = [
  'run-start',
  'pre-call',
  'context-fitted',
  'pre-reasoning',
  'reasoning-chunk',
  'tool-input-chunk',
  'post-reasoning',
  'pre-acting',
  'acting-chunk',
  'post-acting',
  'pre-summary',
  'summary-chunk',
  'post-summary',
  'step-reset',
  'post-call',
  'run-end',
  'suspended',
  'error',
];

test('a typed handler gets each event before the `*` handler of the same hook', async () => {
  const seen: string[] = [];
  const handle = (event: AgentEvent): void => void seen.push(`on ${event.seq} ${event.type}`);
  const on = Object.fromEntries(everyType.map((type) => [type, handle])) as Hook['on'] & object;
  const both: Hook = {
    on: { '*': (event) => void seen.push(`* ${event.seq} ${event.type}`), ...on },
  };
  const rewrite: Hook = {
    on: {
      'post-summary': {
        priority: 1,
        handle: (event) => ({ ...event, message: withText(event.message, 'short') }),
      },
    },
  };
  const { agent } = setUp(
    [
      { thinking: 'Hm.', text: 'I look.', toolCalls: [{ name: 'echo' }] },
      'A summary.',
      { toolCalls: [{ name: 'external' }] },
      { error: new AgentError('MODEL_SERVER', 'down') },
    ],
    [both, rewrite],
    {
      limits: { iterations: 1 },

      use: [
        {
          wrapRequest: async (draft, next, run) => {
            await run.events.emit('context-fitted', { removed: 1, before: 2, after: 1 });
            return next(draft);
          },
        },
        closeOpenCalls(),
      ],
    },
  );
  expect((await agent.call('go')).reason).toBe('max-iterations');
  expect((await agent.call('go')).reason).toBe('suspended');
  expect((await agent.call('go', { throwOnError: false })).reason).toBe('error');
  const typed = seen.filter((line) => line.startsWith('on '));
  expect(new Set(typed.map((line) => line.split(' ')[2]))).toEqual(new Set(everyType));
  expect(seen).toEqual(typed.flatMap((line) => [line, line.replace('on ', '* ')]));
});

test('a request contains system prompt, recalled messages, history and input, and recalled messages are not stored', async () => {
  const asked: string[][] = [];
  const { agent, model } = setUp(['one', 'two'], [], {
    systemPrompt: 'Be brief.',
    use: [
      prepending(async (given) => {
        asked.push(given.map(textOf));
        return [systemMessage('You know: tea.')];
      }),
      prepending(async () => [systemMessage('And milk.')]),
    ],
  });
  await agent.call('first');
  await agent.call('second');
  expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([
    ['Be brief.', 'You know: tea.', 'And milk.', 'first'],
    ['Be brief.', 'You know: tea.', 'And milk.', 'first', 'one', 'second'],
  ]);
  expect(asked).toEqual([['first'], ['second']]);
  expect((await agent.messages()).map(textOf)).toEqual(['first', 'one', 'second', 'two']);
});

test('hooks get a modifiable event one after the other, each with the result of the previous hook, also if a hook is async', async () => {
  const seen: string[] = [];
  const { agent } = setUp(
    ['one'],
    [
      {
        on: {
          'post-reasoning': async (event) =>
            Promise.resolve({ ...event, message: withText(event.message, 'two') }),
        },
      },
      { on: { 'post-reasoning': (event) => void seen.push(textOf(event.message)) } },
      {
        on: {
          '*': (event) =>
            event.type === 'post-reasoning'
              ? { ...event, message: withText(event.message, 'three') }
              : undefined,
        },
      },
      { on: { 'post-reasoning': (event) => void seen.push(textOf(event.message)) } },
    ],
  );
  expect((await agent.call('go')).text).toBe('three');
  expect(seen).toEqual(['two', 'three']);
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'three']);
});

const more = (messages: readonly Msg[]): readonly Msg[] => [...messages, userMessage('more')];

test('hooks change the summary and the answer, and the log contains the changed texts', async () => {
  const { agent, model } = setUp(
    [echoes(1), 'long'],
    [
      {
        on: {
          'pre-summary': (event) => ({ ...event, messages: more(event.messages) }),
          'post-summary': (event) => ({ ...event, message: withText(event.message, 'short') }),
          'post-call': (event) => ({
            ...event,
            message: withText(event.message, `${textOf(event.message)}er`),
          }),
        },
      },
    ],
    { limits: { iterations: 1 } },
  );
  expect((await agent.call('go')).text).toBe('shorter');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toBe('more');
  expect((await agent.messages()).map(textOf)).toEqual(['go', '', '', 'shorter']);
});

test('a pre-reasoning hook chooses the tools and options of its own request only', async () => {
  const { agent, model } = setUp(
    [echoes(1), 'done'],
    [
      {
        on: {
          'pre-reasoning': (event) =>
            event.iteration === 1 ? { ...event, tools: [], options: { maxTokens: 7 } } : undefined,
        },
      },
    ],
    { generate: { temperature: 0.5 } },
  );
  await agent.call('go', { maxTokens: 99 });
  expect(
    model.requests.map(({ tools, maxTokens, temperature }) => [
      tools.length,
      maxTokens,
      temperature,
    ]),
  ).toEqual([
    [0, 7, undefined],
    [2, 99, 0.5],
  ]);
});

test('a tool call that a pre-acting hook changed is validated again and keeps its id', async () => {
  const { agent, model } = setUp(
    [echoes(1, 2), 'done'],
    [
      {
        on: {
          'pre-acting': (event) => ({
            ...event,
            toolUse: {
              ...event.toolUse,
              id: 'other',
              ...(event.toolUse.id === 'call_1' ? { name: 'none' } : { input: { n: 3 } }),
            },
          }),
        },
      },
    ],
  );
  await agent.call('go');
  expect(ran).toEqual([{ n: 3 }]);
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)).toMatchObject([
    {
      toolUseId: 'call_1',
      state: 'error',
      output: 'Error: Tool not found: none. Available: echo, external.',
    },
    { toolUseId: 'call_2', state: 'success', output: '{"n":3}' },
  ]);
});

test('a result that a post-acting hook changes keeps the id of its tool call', async () => {
  const { agent, model } = setUp(
    [echoes(1), 'done'],
    [
      {
        on: {
          'post-acting': (event) => ({
            ...event,
            result: { ...event.result, toolUseId: 'other', output: 'changed' },
          }),
        },
      },
    ],
  );
  await agent.call('go');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)).toMatchObject([
    { toolUseId: 'call_1', output: 'changed' },
  ]);
});

/** Hooks that each write to a part of their event, by the name of that part. */
const writers: { readonly [name: string]: Hook['on'] & object } = {
  'a delta': { 'reasoning-chunk': (event) => void ((event as { delta: string }).delta = 'x') },
  'the end': { 'run-end': (event) => void ((event as { result: unknown }).result = 'x') },
  'a modifiable event': {
    'post-reasoning': (event) => void ((event as { message: unknown }).message = 'x'),
  },
  'a message': {
    'post-reasoning': (event) => void ((event.message as { role: string }).role = 'user'),
  },
  'the blocks of a message': {
    'post-reasoning': (event) =>
      void (event.message.content as unknown[]).push({ type: 'text', text: 'x' }),
  },
  'a block': {
    'post-reasoning': (event) => void ((event.message.content[0] as { text: string }).text = 'x'),
  },
  'the list of a request': {
    'pre-reasoning': (event) => void (event.messages as unknown[]).push(userMessage('x')),
  },
  'a message of a request': {
    'pre-reasoning': (event) =>
      void ((event.messages[0]!.content[0] as { text: string }).text = 'x'),
  },
  'the input': {
    'pre-call': (event) => void ((event.input[0]!.content[0] as { text: string }).text = 'x'),
  },
  'a tool call': {
    'pre-acting': (event) => void ((event.toolUse as { input: unknown }).input = 'x'),
  },
  'the arguments of a tool call': {
    'pre-acting': (event) => void ((event.toolUse.input as { n: number }).n = 5),
  },
  'the result of the run': {
    'run-end': (event) => void ((event.result as { text: string }).text = 'x'),
  },
  'the message of the result': {
    'run-end': (event) => void ((event.result.message.content[0] as { text: string }).text = 'x'),
  },
  'a tool result': {
    'post-acting': (event) => void ((event.result as { output: unknown }).output = 'x'),
  },
};

test.for(Object.keys(writers))(
  'a hook that writes to %s fails the call and does not change the log',
  async (name) => {
    const { agent } = setUp(
      [{ text: 'I look.', toolCalls: [{ name: 'echo' }] }, 'done'],
      [{ name, on: writers[name]! }],
    );
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'HOOK_ERROR',
      details: { hook: name },
    });
    expect((await agent.messages()).map(textOf).filter((text) => text.includes('x'))).toEqual([]);
  },
);

test.for<[what: string, hook: Hook, options?: Partial<AgentOptions>]>([
  [
    'pre-call',
    { on: { 'pre-call': (event) => void (event.input as Msg[]).push(userMessage('x')) } },
    { use: [agentscope()] },
  ],
  ['suspended', { on: { suspended: (event) => void ((event.pending as unknown[]).length = 0) } }],
  [
    'step-reset',
    {
      on: {
        'post-reasoning': (event) => ({
          ...event,
          message: { ...event.message, content: [{ type: 'text', text: 'I see.' }] },
        }),
        'step-reset': (event) =>
          void ((event.replacement!.content[0] as { text: string }).text = 'x'),
      },
    },
  ],
  [
    'post-acting',
    {
      on: {
        'post-acting': ({ result }) => void ((result.output[0] as { text: string }).text = 'x'),
      },
    },
  ],
])('every value in a %s event is frozen', async ([event, hook, options]) => {
  const draw = tool({
    name: 'draw',
    description: 'Draws',
    input,
    execute: () => ({ content: [{ type: 'text', text: 'a cat' }] }),
  });
  const { agent } = setUp(
    [{ text: 'I look.', toolCalls: [{ name: 'draw' }, { name: 'external' }] }],
    [hook],
    {
      tools: [draw, external],
      ...options,
    },
  );
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR', details: { event } });
});

test('a tool may write to its arguments and emitted values, and the log and the readers keep the original values', async () => {
  const counter = tool({
    name: 'echo',
    description: 'Counts',
    input,
    execute(given, { emit }) {
      const progress = { done: 0 };
      for (; progress.done < 3; progress.done += 1) emit(progress);
      (given as { n: number }).n = 99;
      return 'counted';
    },
  });
  const { agent } = setUp([echoes(1), 'done'], [{ on: { '*': () => {} } }], { tools: [counter] });
  const chunks: unknown[] = [];
  for await (const event of agent.stream('go'))
    if (event.type === 'acting-chunk') chunks.push(event.chunk);
  expect(chunks).toEqual([{ done: 0 }, { done: 1 }, { done: 2 }]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ output: 'counted' }]);
  expect((await agent.messages()).flatMap(toolUsesOf)).toMatchObject([{ input: { n: 1 } }]);
});

test('bytes that a tool emits reach a hook as numbers', async () => {
  const bytes = tool({
    name: 'echo',
    description: 'Gives bytes',
    input,
    execute: (_, { emit }) => void emit(new Uint8Array(2) as never),
  });
  const { agent } = setUp([echoes(1), 'done'], [{ on: { '*': () => {} } }], { tools: [bytes] });
  const chunks: unknown[] = [];
  for await (const event of agent.stream('go'))
    if (event.type === 'acting-chunk') chunks.push(event.chunk);
  expect(chunks).toEqual([[0, 0]]);
});

test.for<[what: string, cut: (messages: readonly Msg[]) => readonly Msg[]]>([
  ['a result without its call', (messages) => messages.slice(-1)],
  ['a call without its result', (messages) => messages.filter(({ role }) => role !== 'tool')],
  ['a result at another place', (messages) => messages.toReversed()],
])(
  'a hook that leaves %s in a request fails the call before the model request',
  async ([, cut]) => {
    const hook: Hook = {
      on: {
        'pre-reasoning': (event) =>
          event.iteration > 1 ? { ...event, messages: cut(event.messages) } : undefined,
      },
    };
    const { agent, model } = setUp([echoes(1), 'done'], [hook]);
    const error = { code: 'HOOK_ERROR', details: { event: 'pre-reasoning', field: 'messages' } };
    await expect(agent.call('go')).rejects.toMatchObject(error);
    expect(model.requests).toHaveLength(1);
    expect((await agent.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  },
);

test('a hook that returns an earlier event or an event without a sequence number fails the call', async () => {
  let first: EventOf<'pre-reasoning'> | undefined;
  const again: Hook = { name: 'again', on: { 'pre-reasoning': (event) => (first ??= event) } };
  await expect(setUp([echoes(1), 'done'], [again]).agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'again', event: 'pre-reasoning', field: 'seq' },
  });
  const bare: Hook = {
    on: {
      'pre-reasoning': ({ type, messages, tools, options }) =>
        ({ type, messages, tools, options }) as EventOf<'pre-reasoning'>,
    },
  };
  await expect(setUp(['done'], [bare]).agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'unnamed', event: 'pre-reasoning', field: 'seq' },
  });
});

test('the value that a hook returns for a notification is ignored', async () => {
  const { agent } = setUp(
    ['one'],
    [{ on: { 'reasoning-chunk': (event) => ({ ...event, delta: 'x' }) } }],
  );
  const deltas: string[] = [];
  for await (const event of agent.stream('go'))
    if (event.type === 'reasoning-chunk') deltas.push(event.delta);
  expect(deltas).toEqual(['one']);
});

test.for<[what: string, returned: (event: AgentEvent) => unknown]>([
  ['an event of another type', (event) => ({ ...event, type: 'run-start' })],
  ['a text', () => 'fine'],
  ['only the messages', (event) => (event.type === 'pre-call' ? event.input : undefined)],
])('a hook that returns %s fails the call, and the error names the hook', async ([, returned]) => {
  const wrong: Hook = {
    name: 'wrong',
    on: {
      '*': (event) => (event.type === 'pre-call' ? (returned(event) as AgentEvent) : undefined),
    },
  };
  const { agent } = setUp(['one'], [{ name: 'other', on: { '*': () => {} } }, wrong]);
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    message: expect.stringContaining(
      'Hook "wrong" must return valid `type` at pre-call. Return a changed copy of the event',
    ) as string,
    details: { hook: 'wrong', event: 'pre-call', field: 'type' },
  });
});

test('an invalid event fails the call even if a later hook would repair it', async () => {
  const spoils: Hook = {
    name: 'spoils',
    on: { 'pre-reasoning': (event) => ({ ...event, messages: [{}] as never }) },
  };
  const repairs: Hook = { on: { 'pre-reasoning': (event) => ({ ...event, messages: [] }) } };
  const { agent, model } = setUp(['one'], [spoils, repairs]);
  await expect(agent.call('go')).rejects.toMatchObject({
    details: { hook: 'spoils', field: 'messages' },
  });
  expect(model.requests).toEqual([]);
});

test('an AgentError that a hook throws keeps its code', async () => {
  const refuse = (): never => {
    throw new AgentError('UNAUTHORIZED', 'Not you.');
  };
  const { agent, model } = setUp([], [{ on: { 'pre-call': refuse } }]);
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: 'Not you.',
  });
  expect(model.requests).toEqual([]);
  expect(await agent.messages()).toEqual([]);
});

test('the JSON of an AgentError that a hook throws ends the call as that error', async () => {
  const { agent } = setUp(
    [],
    [
      {
        on: {
          'pre-call': () =>
            Promise.reject(structuredClone(new AgentError('UNAUTHORIZED', 'Not you.').toJSON())),
        },
      },
    ],
  );
  expect(await agent.call('go', { throwOnError: false })).toMatchObject({
    reason: 'error',
    error: { code: 'UNAUTHORIZED' },
  });
});

test('a hook whose failure is ignored leaves the event unchanged and gets later events', async () => {
  const seen: string[] = [];
  const { agent } = setUp(
    ['one'],
    [
      {
        on: {
          'post-reasoning': (event) => ({ ...event, message: withText(event.message, 'two') }),
        },
      },
      {
        onError: 'ignore',
        on: {
          'post-reasoning': () => Promise.reject(new Error('down')),
          '*': (event) =>
            void (event.type === 'post-reasoning' && seen.push(textOf(event.message))),
        },
      },
    ],
  );
  expect((await agent.call('go')).text).toBe('two');
  expect(seen).toEqual(['two']);
});

test('with `agentscope()`, hooks get the pre-call event, and no change of the input stays', async () => {
  const seen: string[] = [];
  const hooks: readonly Hook[] = [
    { on: { 'pre-call': (event) => ({ ...event, input: more(event.input) }) } },
    { on: { 'pre-call': (event) => void seen.push(...event.input.map(textOf)) } },
  ];
  const { agent, model } = setUp(['one'], [], { use: [agentscope(), ...hooks] });
  const types: string[] = [];
  const shown: string[] = [];
  for await (const event of agent.stream('go')) {
    types.push(event.type);
    if (event.type === 'pre-call') shown.push(...event.input.map(textOf));
  }
  expect(types.slice(0, 3)).toEqual(['run-start', 'pre-call', 'pre-reasoning']);
  expect(seen[0]).toBe('go');
  expect(shown).toEqual(['go']);
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['go']);
});

test('adding or removing a hook during a call takes effect from the next event', async () => {
  const { agent } = setUp(['one', 'two', 'three'], []);
  const heard: string[] = [];
  const listen = (name: string): Hook => ({
    on: { '*': (event) => void (event.type === 'run-end' && heard.push(name)) },
  });
  const offA = agent.addHook(listen('a'));
  let offB = (): void => {};
  agent.addHook({
    on: {
      'pre-reasoning': () => {
        offA();
        offB = agent.addHook(listen('b'));
      },
    },
  });
  await agent.call('go');
  expect(heard.splice(0)).toEqual(['b']);
  await agent.call('go');
  expect(heard.splice(0)).toEqual(['b', 'b']);
  offB();
  offB();
  await agent.call('go');
  expect(heard).toEqual(['b', 'b']);
});

test('a hook added during an event gets only the events after that event', async () => {
  const { agent } = setUp(['one', 'two'], []);
  const heard: string[] = [];
  const stop = agent.addHook({
    on: {
      'pre-reasoning': () => {
        stop();
        agent.addHook({ on: { '*': ({ type }) => void heard.push(type) } });
      },
      'post-reasoning': () => void heard.push('taken off'),
    },
  });
  await agent.call('go');
  expect(heard.splice(0)).toEqual(['reasoning-chunk', 'post-reasoning', 'post-call', 'run-end']);
  const stream = agent.stream('go');
  agent.addHook({ on: { 'run-start': () => void heard.push('between stream() and reading') } });
  await stream.result;
  expect(heard.slice(0, 3)).toEqual(['run-start', 'between stream() and reading', 'pre-call']);
});

test('a hook added while a delta is streamed can change the answer of the same call', async () => {
  const { agent } = setUp(['one two'], []);
  const off = agent.addHook({
    on: {
      'reasoning-chunk': () => {
        off();
        agent.addHook({
          on: {
            'post-call': (event) => ({
              ...event,
              message: { ...event.message, content: [{ type: 'text', text: 'changed' }] },
            }),
          },
        });
      },
    },
  });
  expect((await agent.call('go')).text).toBe('changed');
});

test('hooks and tools interrupt the agent through their context argument', async () => {
  const { agent } = setUp(['one two'], []);
  const off = agent.addHook({
    on: {
      'reasoning-chunk': (_event, { ending: { interrupt } }) => void interrupt('By a hook.'),
    },
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'interrupted', text: 'By a hook.' });
  off();
  const stopper = tool({
    name: 'stopper',
    description: '',
    input: { type: 'object' },
    execute: (_input, context) => String(context.interrupt('By a tool.')),
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'stopper' }] }]);
  const other = new ReActAgent({ name: 'a', model, tools: [stopper] });
  expect(await other.call('go')).toMatchObject({ reason: 'interrupted', text: 'By a tool.' });
});

test('stop() in a post-reasoning hook ends the call with the answer so far', async () => {
  const { agent } = setUp(['one', 'two'], [{ on: { 'post-reasoning': ({ stop }) => stop() } }]);
  expect(await agent.call('go')).toMatchObject({ reason: 'stopped-by-hook', text: 'one' });
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'one']);
  expect((await agent.call('go on')).text).toBe('two');
});

test('stop() in a post-acting hook lets the other tool calls end, and a call without input continues', async () => {
  const { agent, model } = setUp(
    [echoes(1, 2), 'done'],
    [
      {
        on: { 'post-acting': (event) => void (event.toolUse.id === 'call_1' && event.stop()) },
      },
    ],
  );
  const result = await agent.call('go');
  expect(result.reason).toBe('stopped-by-hook');
  expect(result.message.content.map(({ type }) => type)).toEqual(['tool_use', 'tool_use']);
  expect(ran).toHaveLength(2);
  expect((await agent.call()).text).toBe('done');
  expect(requestFaults(model.requests[1]!.messages)).toEqual([]);
});

test('gotoReasoning() with open tool calls keeps the results that it gets, interrupts the other tool calls, and runs no tool', async () => {
  const { agent, model } = setUp(
    [echoes(1, 2), 'done'],
    [
      {
        on: {
          'post-reasoning': ({ iteration, gotoReasoning }) => {
            if (iteration > 1) return;
            const known = toolMessage({
              type: 'tool_result',
              toolUseId: 'call_1',
              name: 'echo',
              output: 'cached',
              state: 'success',
            });
            gotoReasoning([userMessage('hint'), known]);
          },
        },
      },
    ],
  );
  expect((await agent.call('go')).text).toBe('done');
  expect(ran).toEqual([]);
  const { messages } = model.requests[1]!;
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
  expect(messages.flatMap(toolResultsOf)).toMatchObject([
    { output: 'cached' },
    { state: 'interrupted' },
  ]);
  expect(requestFaults(messages)).toEqual([]);
});

test('gotoReasoning() counts as an iteration, so the limit of iterations ends the run', async () => {
  const { agent } = setUp(
    ['one', 'two', 'in short'],
    [{ on: { 'post-reasoning': ({ gotoReasoning }) => gotoReasoning([]) } }],
    {
      limits: { iterations: 2 },
    },
  );
  expect(await agent.call('go')).toMatchObject({
    reason: 'max-iterations',
    text: 'in short',
    iterations: 2,
  });
});

test('a tool call that a hook rejects does not run, and the others do', async () => {
  const { agent, model } = setUp(
    [echoes(1, 2, 3), 'done'],
    [
      {
        on: {
          'pre-acting': async (event) =>
            void (event.toolUse.id === 'call_2' && event.reject('too dear')),
        },
      },
    ],
  );
  await agent.call('go');
  expect(ran).toEqual([{ n: 1 }, { n: 3 }]);
  expect(
    model.requests[1]!.messages.flatMap(toolResultsOf).map(({ state, output }) => [state, output]),
  ).toEqual([
    ['success', '{"n":1}'],
    ['denied', 'Tool call rejected: too dear'],
    ['success', '{"n":3}'],
  ]);
});

test('the priority of a hook is that of its handlers, unless a handler has its own', async () => {
  const seen: string[] = [];
  const note = (name: string) => () => void seen.push(name);
  const { agent } = setUp(
    ['ok'],
    [
      { on: { 'pre-call': note('usual') } },
      { priority: 20, on: { 'pre-call': note('second') } },
      {
        priority: 10,
        on: {
          'pre-call': { handle: note('last'), priority: 200 },
          'post-call': note('first after'),
          '*': ({ type }) => void (type === 'pre-call' && seen.push('first')),
        },
      },
      { on: { 'post-call': note('later after') } },
    ],
  );
  agent.addHook({ priority: 150, on: { 'pre-call': note('added') } });
  await agent.call('go');
  expect(seen).toEqual(['first', 'second', 'usual', 'added', 'last', 'first after', 'later after']);
});

test('a priority that is not a number is refused', () => {
  const hook = { priority: 'high', on: {} } as unknown as Hook;
  const refusal = expect.objectContaining({
    code: 'CONFIGURATION',
    message: expect.stringContaining('priority must be a number; got a string.'),
  }) as Error;
  expect(() => setUp([], [hook])).toThrow(refusal);
  expect(() => setUp([], []).agent.addHook(hook)).toThrow(refusal);
});
