import { expect, test } from 'vitest';
import {
  type AgentOptions,
  type AgentEvent,
  MemoryStore,
  SessionMemory,
  toolResultsOf,
  type JsonObject,
  tool,
  type ToolOptions,
} from '@isoloop/core';
import { agentscope } from '@isoloop/presets';
import { signalUntilTestEnd } from '../../support/test-end.ts';
import { historyFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { metaTool, Toolkit } from '@isoloop/core/tool';
import { approvals } from '@isoloop/core/approval';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const on = { name: 'switch_tool_groups', id: 'on', input: { groups: ['web'] } };
const off = { name: 'switch_tool_groups', id: 'off', input: { groups: [], exactly: true } };
const search = { name: 'search', id: 'search', input: { q: 'tea' } };
const sequential = { limits: { parallelTools: 1 } } as const;

/**
 * Creates an agent with one tool, `search`, in the group `web`. Its first reply makes `toolCalls`.
 */
function setUp(
  toolCalls: readonly { readonly name: string; readonly id: string }[],
  {
    active = false,
    more = {},
    ...options
  }: Partial<AgentOptions> & {
    active?: boolean;
    more?: Partial<ToolOptions<JsonObject>>;
  } = sequential,
) {
  const ran: unknown[] = [];
  const web = tool({
    name: 'search',
    description: '',
    input: { type: 'object', properties: { q: { type: 'string' }, key: { type: 'string' } } },
    group: 'web',
    execute: (input) => {
      ran.push(input);
      return 'found';
    },
    ...more,
  });
  const tools = new Toolkit([metaTool(), web], {
    groups: [{ name: 'web', description: 'The web', active }],
  });
  const { agent, model } = scriptedAgent([{ toolCalls }, 'Done.'], { tools, ...options });
  const results = async () => {
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    return messages
      .flatMap(toolResultsOf)
      .map(({ toolUseId, state, output }) => `${toolUseId} ${state} ${output as string}`);
  };
  return { agent, model, ran, results };
}

const isOn = 'on success Active groups:\n- web: The web';
const isOff = 'off success No group is active.';
const unavailable =
  'search error Error: Tool not available: search. None of its groups is active: web.';

test.for([
  ['limits', sequential],
  ['agentscope()', { use: [agentscope()] }],
] as const)(
  'with calls in sequence (%s), a tool runs if an earlier call has switched its group on',
  async ([, options]) => {
    const { agent, ran, results } = setUp([search, on, { ...search, id: 'again' }], options);
    const events: AgentEvent[] = [];
    for await (const event of agent.stream('Go')) events.push(event);
    expect(orderFaults(events)).toEqual([]);
    expect(await results()).toEqual([unavailable, isOn, 'again success found']);
    expect(ran).toEqual([{ q: 'tea' }]);
    expect(events.at(-1)).toMatchObject({
      result: { reason: 'stop', toolsUsed: ['switch_tool_groups', 'search'] },
    });
  },
);

test('with calls in sequence, a tool does not run if an earlier call has switched its group off', async () => {
  const { agent, ran, results } = setUp([search, off, { ...search, id: 'late' }], {
    ...sequential,
    active: true,
  });
  await agent.call('Go');
  expect(await results()).toEqual([
    'search success found',
    isOff,
    unavailable.replace('search', 'late'),
  ]);
  expect(ran).toHaveLength(1);
});

test.for([
  [on, false, unavailable, isOn],
  [off, true, 'search success found', isOff],
] as const)(
  'with parallel calls, the groups count as they are before any of the tools runs',
  async ([call, active, expected, switched]) => {
    const { agent, results } = setUp([call, search], { active });
    await agent.call('Go');
    expect((await results()).toSorted()).toEqual([switched, expected].toSorted());
  },
);

test('a call over the parallel limit is looked up when it starts', async () => {
  const calls = [on, { ...on, id: 'on2' }, search];
  const { agent, results } = setUp(calls, { limits: { parallelTools: 2 } });
  await agent.call('Go');
  expect(await results()).toContain('search success found');
});

test('the arguments of a tool that an earlier call has activated are checked when it starts', async () => {
  const { agent, ran, results } = setUp([on, search], {
    ...sequential,
    more: {
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => ({ issues: [{ message: 'q must be a number' }] }),
          jsonSchema: { input: () => ({ type: 'object' }), output: () => ({}) },
        },
      } as never,
    },
  });
  await agent.call('Go');
  expect((await results())[1]).toContain('q must be a number');
  expect(ran).toEqual([]);
});

test('the pre-acting hooks see each call once, with the problem that it has before the round', async () => {
  const seen: unknown[] = [];
  const { agent, ran } = setUp([on, search], sequential);
  agent.addHook({
    on: {
      'pre-acting': (event) => {
        seen.push([event.toolUse.id, event.problem]);
        if (event.toolUse.id !== 'search') return undefined;
        return { ...event, toolUse: { ...event.toolUse, input: { q: 'coffee' } } };
      },
    },
  });
  await agent.call('Go');
  expect(seen).toEqual([
    ['on', undefined],
    ['search', 'Tool not available: search. None of its groups is active: web.'],
  ]);
  expect(ran).toEqual([{ q: 'coffee' }]);
});

test('a hook may reject a call whose tool an earlier call activates', async () => {
  const { agent, ran, results } = setUp([on, search], {
    ...sequential,
    use: [
      {
        on: {
          'pre-acting': ({ problem, reject }) => {
            if (problem !== undefined) reject('no');
          },
        },
      },
    ],
  });
  await agent.call('Go');
  expect((await results()).toSorted()).toEqual([isOn, 'search denied Tool call rejected: no']);
  expect(ran).toEqual([]);
});

test('a tool that needs approval suspends the run after an earlier call has activated it', async () => {
  const { agent, ran, results } = setUp([on, search], {
    ...sequential,
    more: { needsApproval: true },
  });
  const { reason, pending } = await agent.call('Go');
  expect([reason, pending]).toMatchObject([
    'suspended',
    [{ toolUseId: 'search', kind: 'approval', input: { q: 'tea' } }],
  ]);
  expect(ran).toEqual([]);
  expect((await agent.call([{ type: 'approve', toolUseId: 'search' }])).text).toBe('Done.');
  expect(await results()).toEqual([isOn, 'search success found']);
});

test('a person is asked about a tool call when it starts', async () => {
  const asked: string[] = [];
  const { agent, results } = setUp([on, search], {
    ...sequential,
    more: { needsApproval: true },
    use: [approvals({ decide: ({ name }) => (asked.push(name), { type: 'approve' }) })],
  });
  expect((await agent.call('Go')).text).toBe('Done.');
  expect([asked, await results()]).toEqual([['search'], [isOn, 'search success found']]);
});

test('an approved tool does not run if its group was switched off while the person was asked', async () => {
  const { agent, ran, results } = setUp([search], {
    ...sequential,
    active: true,
    more: { needsApproval: true },
    use: [
      approvals({
        decide: () => {
          agent.tools.setActiveGroups?.([]);
          return { type: 'approve' };
        },
      }),
    ],
  });
  await agent.call('Go');
  expect([ran, await results()]).toEqual([[], [unavailable]]);
});

test('an approved tool does not run if its group was switched off before the approval', async () => {
  const tools = { ...sequential, active: true, more: { needsApproval: true } } as const;
  const { agent, ran, results } = setUp([on, search], tools);
  await agent.call('Go');
  (agent.tools as Toolkit).setActiveGroups([]);
  await agent.call([{ type: 'approve', toolUseId: 'search' }]);
  expect([ran, await results()]).toEqual([[], [isOn, unavailable]]);
});

test('a tool without `execute` waits for its result after an earlier call has activated it', async () => {
  const { agent, results } = setUp([on, search], {
    ...sequential,
    more: { execute: undefined as never },
  });
  expect((await agent.call('Go')).pending).toMatchObject([{ kind: 'external', name: 'search' }]);
  await agent.call([{ type: 'result', toolUseId: 'search', output: 'there' }]);
  expect(await results()).toEqual([isOn, 'search success there']);
});

test('a preset that an earlier call has changed counts', async () => {
  const preset = tool({
    name: 'sign_in',
    description: '',
    input: {},
    execute: () => {
      (agent.tools as Toolkit).updatePreset('search', { key: 'new' });
      return 'in';
    },
  });
  const signIn = { name: 'sign_in', id: 'sign_in' };
  const { agent, ran } = setUp([signIn, search], {
    ...sequential,
    active: true,
    more: { preset: { key: 'old' } },
  });
  (agent.tools as Toolkit).add(preset);
  await agent.call('Go');
  expect(ran).toEqual([{ q: 'tea', key: 'new' }]);
});

test('after the host died between the two calls, another host runs the tool', async () => {
  const store = new MemoryStore();
  const dying = new SessionMemory(store, 's');
  const note = dying.note.bind(dying);
  let died!: () => void;
  const death = new Promise<void>((resolve) => (died = resolve));
  dying.note = (notes, options) => {
    const isSearch = notes.some((one) => one.kind === 'call-started' && one.toolUseId === 'search');
    if (!isSearch) return note(notes, options);
    died();
    return new Promise(() => {});
  };
  const first = setUp([on, search], { ...sequential, memory: dying });
  void first.agent.call('Go', { signal: signalUntilTestEnd() }).catch(() => {});
  await death;

  const second = setUp([], { ...sequential, memory: new SessionMemory(store, 's') });
  await second.agent.call();
  expect([first.ran, second.ran]).toEqual([[], [{ q: 'tea' }]]);
  expect(await second.results()).toEqual([isOn, 'search success found']);
});
