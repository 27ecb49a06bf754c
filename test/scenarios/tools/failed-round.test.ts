import { describe, expect, test } from 'vitest';
import {
  ReActAgent,
  type AgentOptions,
  AgentError,
  type AgentEvent,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  toolResultsOf,
  tool,
  type Tool,
  type Middleware,
} from '@isoloop/core';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { ScriptedModel } from '@isoloop/core/testing';
import { orderFaults } from '../../support/order-faults.ts';
import { approvals } from '@isoloop/core/approval';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const input = { type: 'object' } as const;
const named = (name: string, more: Partial<Tool> = {}): Tool => ({
  ...tool({ name, description: '', input, execute: () => `${name} done` }),
  ...more,
});
const fatal = named('bad', {
  execute: () => {
    throw new AgentError('TOOL_ERROR', 'on fire');
  },
});

/** Creates an agent whose first reply calls the tools by name; the calls have the names as ids. */
function setUp(
  tools: readonly Tool[],
  {
    replies = ['Later.', 'Last.'],
    ...options
  }: Partial<AgentOptions> & { replies?: string[] } = {},
) {
  const toolCalls = tools.map(({ name }) => ({ name, id: name }));
  const { agent, model } = scriptedAgent([{ toolCalls }, ...replies], { tools, ...options });
  const results = async () =>
    (await agent.messages())
      .flatMap(toolResultsOf)
      .map(({ toolUseId, state, output }) => `${toolUseId} ${state} ${output as string}`);
  return { agent, model, results };
}

const failingAt = (type: 'pre-acting' | 'post-acting', thrown: unknown): Middleware => ({
  on: {
    [type]: ({ toolUse }: { readonly toolUse: { readonly name: string } }) => {
      if (toolUse.name === 'bad') throw thrown;
    },
  },
});

const causes: readonly (readonly [
  cause: string,
  bad: Tool,
  use: Middleware | undefined,
  words: string,
])[] = [
  ['a fatal error of the tool', fatal, undefined, 'Error: on fire'],
  [
    'a wrapTool that throws',
    named('bad'),
    {
      wrapTool: (call, next) => {
        if (call.tool.name === 'bad') throw new Error('no paper');
        return next(call);
      },
    },
    'Error: no paper',
  ],
  [
    'a hook that fails at pre-acting',
    named('bad'),
    failingAt('pre-acting', new Error('key sk-1')),
    'Error: A hook failed before this call began.',
  ],
  [
    'a hook that fails at post-acting',
    named('bad'),
    failingAt('post-acting', new Error('key sk-1')),
    'Error: A hook failed after this call ended.',
  ],
];
const store = new MemoryStore();
let sessions = 0;
const session = (durability: 'step' | 'turn') => () =>
  new SessionMemory(store, `failed-round-${(sessions += 1)}`, { durability });
const memories = [
  ['messages only', () => new InMemoryMemory()],
  ['a session', session('step')],
  ['a session that writes at the end', session('turn')],
] as const;
const cases = causes.flatMap(([cause, bad, use, words]) =>
  memories.flatMap(([kind, memory]) =>
    [1, Infinity].map((parallelTools) => ({ cause, bad, use, words, kind, memory, parallelTools })),
  ),
);

describe('a round that fails', () => {
  test.for(cases)(
    '$cause leaves no open call in $kind, with $parallelTools tools at a time',
    async ({ bad, use = {}, words, memory: make, parallelTools }) => {
      const memory = make();
      const { agent, model, results } = setUp([named('first'), bad, named('last')], {
        memory,
        use: [use],
        limits: { parallelTools },
      });
      const events: AgentEvent[] = [];
      const stream = agent.stream('Go', { throwOnError: false });
      for await (const event of stream) events.push(event);
      const { reason, error, pending } = await stream.result;
      expect([reason, pending]).toEqual(['error', []]);
      expect(error?.message).toMatch(/on fire|no paper|sk-1/);
      expect(orderFaults(events)).toEqual([]);
      const acted = events.flatMap((event) =>
        event.type === 'post-acting' ? event.toolUse.id : [],
      );
      expect(acted.toSorted()).toEqual(['bad', 'first', 'last']);
      expect(events.slice(-2).map(({ type }) => type)).toEqual(['error', 'run-end']);

      const messages = await agent.messages();
      expect(historyFaults(messages)).toEqual([]);
      expect(JSON.stringify(messages)).not.toContain('sk-1');
      expect(await results()).toContain(`bad error ${words}`);
      for (const line of await results())
        expect(line).toMatch(/^bad error |^(first|last) (success|interrupted) /);
      if (memory instanceof SessionMemory) {
        const again = new SessionMemory(store, memory.sessionId);
        expect(await again.read()).toEqual(messages);
        expect((await again.view()).calls.size).toBe(0);
      }

      expect((await agent.call('And now?')).text).toBe('Later.');
      expect(model.requests.flatMap((request) => requestFaults(request.messages))).toEqual([]);
    },
  );

  test.for(causes)('after %s, a call without input continues', async ([, bad, use = {}]) => {
    const { agent, model } = setUp([named('first'), bad, named('last')], { use: [use] });
    await expect(agent.call('Go')).rejects.toThrow();
    expect((await agent.call()).text).toBe('Later.');
    expect(model.requests.flatMap((request) => requestFaults(request.messages))).toEqual([]);
  });
});

test('tools in sequence keep their results if a later one fails, and the rest does not start', async () => {
  const { agent, results } = setUp([named('first'), fatal, named('last')], {
    limits: { parallelTools: 1 },
  });
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect(await results()).toEqual([
    'first success first done',
    'bad error Error: on fire',
    'last interrupted Interrupted before it ran.',
  ]);
});

test('a tool that runs beside a failing one is stopped, and its effect is unknown', async () => {
  const stopped: unknown[] = [];
  const slow = named('slow', {
    execute: (_input, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => stopped.push(signal.aborted))),
  });
  const { agent, results } = setUp([slow, fatal]);
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect(stopped).toEqual([true]);
  expect(await results()).toContain(
    'slow interrupted Interrupted before it finished; its effect is unknown.',
  );
});

test('pending tool calls stay pending after a failure, and their decisions continue the run', async () => {
  const memory = session('step')();
  const tools = [
    named('pay', { needsApproval: true }),
    named('elsewhere', { execute: undefined as never }),
    named('bad', fatal),
  ];
  const { agent, results } = setUp(tools, { memory });
  const { pending } = await agent.call('Go', { throwOnError: false });
  expect(pending.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    'pay approval',
    'elsewhere external',
  ]);
  expect(await results()).toEqual(['bad error Error: on fire']);
  await expect(agent.call('Hello?')).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' });

  const model = new ScriptedModel(['Done.']);
  const second = new ReActAgent({
    name: 'a',
    model,
    tools,
    memory: new SessionMemory(store, memory.sessionId),
  });
  expect((await second.call()).pending).toHaveLength(2);
  const { text } = await second.call([
    { type: 'approve', toolUseId: 'pay' },
    { type: 'result', toolUseId: 'elsewhere', output: 'there' },
  ]);
  expect(text).toBe('Done.');
});

test('a tool call for which a person is asked stays pending if another tool fails', async () => {
  let asked!: () => void;
  const asking = new Promise<void>((resolve) => (asked = resolve));
  const answers = [new Promise<undefined>(() => {}), { type: 'approve' } as const];
  const late = named('bad', { execute: (...given) => asking.then(() => fatal.execute!(...given)) });
  const { agent } = setUp([named('pay', { needsApproval: true }), late], {
    use: [approvals({ decide: () => (asked(), answers.shift()) })],
  });
  const { pending } = await agent.call('Go', { throwOnError: false });
  expect(pending).toMatchObject([{ toolUseId: 'pay', kind: 'approval' }]);
  expect((await agent.call()).text).toBe('Later.');
  expect(answers).toEqual([]);
});

test('a result from elsewhere is kept if a hook fails on another one', async () => {
  const elsewhere = (name: string) => named(name, { execute: undefined as never });
  const { agent, results } = setUp([elsewhere('bad'), elsewhere('other')], {
    use: [failingAt('post-acting', new Error('down'))],
  });
  await agent.call('Go');
  const given = ['bad', 'other'].map(
    (toolUseId) => ({ type: 'result', toolUseId, output: `from ${toolUseId}` }) as const,
  );
  await expect(agent.call(given)).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  expect(await results()).toEqual([
    'bad error Error: A hook failed after this call ended.',
    'other success from other',
  ]);
});

test.for([
  ['a new error', () => new Error('down')],
  ['always the same AgentError', (one: AgentError) => one],
] as const)(
  'a hook that fails at every post-acting with %s leaves no open call',
  async ([, thrown]) => {
    const one = new AgentError('GUARD_REJECTED', 'no');
    const slow = named('slow', { execute: () => new Promise(() => {}) });
    const { agent, results } = setUp([named('first'), slow, slow, named('last')].slice(0, 2), {
      use: [
        {
          on: {
            'post-acting': () => {
              throw thrown(one);
            },
          },
        },
      ],
    });
    const { error } = await agent.call('Go', { throwOnError: false });
    expect(error?.code).toMatch(/HOOK_ERROR|GUARD_REJECTED/);
    expect(await results()).toEqual([
      'first error Error: A hook failed after this call ended.',
      'slow interrupted Interrupted before it finished; its effect is unknown.',
    ]);
  },
);

test('the tool calls are closed even if an event cannot be mapped for the readers', async () => {
  const { agent } = setUp([named('first'), named('last')], {
    use: [
      {
        mapEvent(event) {
          if (event.type === 'post-acting') throw new Error('unmapped');
          return event;
        },
      },
    ],
    limits: { parallelTools: 1 },
  });
  await expect(agent.call('Go')).rejects.toThrow('unmapped');
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test.for([
  ['before', 'aborted'],
  ['after', 'error'],
] as const)('an abort %s a fatal error ends the call as %s', async ([when, reason]) => {
  const controller = new AbortController();
  const bad = named('bad', {
    execute: (...given) => {
      if (when === 'before') controller.abort();
      return fatal.execute!(...given);
    },
  });
  const { agent } = setUp([bad, named('other')], {
    use: [{ on: { 'post-acting': () => controller.abort() } }],
  });
  const { signal } = controller;
  expect((await agent.call('Go', { signal, throwOnError: false })).reason).toBe(reason);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect((await agent.call('And now?')).text).toBe('Later.');
});

/** A store that refuses writes of tool results until it is repaired. */
class Refusing extends MemoryStore {
  isBroken = false;
  override async setMany(...given: Parameters<MemoryStore['setMany']>): Promise<void> {
    if (this.isBroken) throw new Error('disk full');
    return super.setMany(...given);
  }
}

test('if the memory refuses every result, the run closes the tool call only once', async () => {
  const memory = new InMemoryMemory();
  const append = memory.append.bind(memory);
  memory.append = async (messages) => {
    if (messages.some(({ role }) => role === 'tool')) throw new Error('disk full');
    return append(messages);
  };
  const states: unknown[] = [];
  const { agent } = setUp([named('first')], {
    memory,
    use: [{ on: { 'post-acting': ({ result }) => void states.push(result.state) } }],
  });
  await expect(agent.call('Go')).rejects.toThrow('disk full');
  expect(states).toEqual(['success', 'interrupted']);
});

test.for(['once', 'for the rest of the run'] as const)(
  'if the store refuses a result %s, each tool call has one result in the end',
  async (how) => {
    const refusing = new Refusing();
    const memory = new SessionMemory(refusing, 's');
    const append = memory.append.bind(memory);
    let isFirst = true;
    memory.append = async (messages, options) => {
      if (isFirst && messages.some(({ role }) => role === 'tool')) {
        isFirst = false;
        refusing.isBroken = true;
        return append(messages, options).finally(() => (refusing.isBroken = how !== 'once'));
      }
      return append(messages, options);
    };
    const { agent, results } = setUp([named('first'), named('last')], {
      memory,
      limits: { parallelTools: 1 },
    });
    const { error } = await agent.call('Go', { throwOnError: false });
    expect(error?.message).toContain('disk full');
    refusing.isBroken = false;
    expect((await agent.call()).text).toBe('Later.');
    expect((await results()).map((line) => line.split(' ')[0])).toEqual(['first', 'last']);
    expect((await results())[0]).toBe('first success first done');
    const again = new SessionMemory(refusing, 's');
    expect(await again.read()).toEqual(await agent.messages());
  },
);
