import { expect, expectTypeOf, test } from 'vitest';
import type { AgentEvent } from '../event/agent-event.ts';
import type { ControlOf, HookControl } from '../event/hook.ts';
import { textOf } from '../message/message-text.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { ScriptedModel, type ScriptedStep } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { ReActAgent } from '../agent/react-agent.ts';
import type { Middleware } from './use/middleware.ts';

type EventType = AgentEvent['type'];
type ControlName = keyof HookControl;

/** DESIGN's table. */
const allowed: Readonly<Partial<Record<EventType, readonly ControlName[]>>> = {
  'run-start': ['reject'],
  'pre-call': ['reject', 'stop', 'jumpTo'],
  'pre-reasoning': ['stop', 'jumpTo', 'gotoReasoning'],
  'post-reasoning': ['stop', 'jumpTo', 'gotoReasoning'],
  'post-acting': ['stop', 'jumpTo', 'gotoReasoning'],
  'pre-acting': ['stop', 'reject'],
  'pre-summary': ['stop'],
  'post-call': [],
  'reasoning-chunk': [],
  'acting-chunk': [],
  'post-summary': [],
  'run-end': [],
};
const names: readonly ControlName[] = ['stop', 'jumpTo', 'gotoReasoning', 'reject'];
const rows = Object.entries(allowed) as [EventType, readonly ControlName[]][];

/** Two steps of a tool that reports progress, then a summary at the limit. */
function setUp(use: readonly Middleware[]) {
  const ran: string[] = [];
  const look = tool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: (_input, { emit, toolUseId }) => {
      ran.push(toolUseId);
      emit('looking');
      return 'seen';
    },
  });
  let rounds = 0;
  const reply = ({ tools }: ModelRequest): ScriptedStep[] => {
    if (!tools.length) return [{ text: 'In short.' }];
    rounds += 1;
    const calls = ['a', 'b'].map((name) => ({ name: 'look', id: `${name}${rounds}` }));
    return [{ text: 'Let me look.' }, { toolCalls: calls }];
  };
  const model = new ScriptedModel(Array.from({ length: 9 }, () => reply));
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look],
    limits: { iterations: 2 },
    use,
  });
  return { agent, model, ran };
}

function asking(type: EventType, name: ControlName): Middleware {
  let isFirst = true;
  return {
    onEvent(event, control) {
      if (event.type !== type || !isFirst) return;
      isFirst = false;
      const args = { stop: [], jumpTo: ['end', 'Jumped.'], gotoReasoning: [[]], reject: ['No.'] };
      (control[name] as (...given: unknown[]) => void)(...args[name]);
    },
  };
}

test.for(
  rows.flatMap(([type, may]) =>
    names.filter((name) => !may.includes(name)).map((name) => [type, name] as const),
  ),
)('a hook that calls what does not exist at %s, %s, fails the call', async ([type, name]) => {
  const { agent } = setUp([asking(type, name)]);
  const call = agent.call('go');
  await expect(call).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining(`There is no control \`${name}\` at ${type}`) as string,
  });
});

test('a hook whose exceptions are ignored is not spared', async () => {
  const { agent } = setUp([{ ...asking('post-call', 'stop'), onError: 'ignore' }]);
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test.for(rows.flatMap(([type, may]) => may.map((name) => [type, name] as const)))(
  'at %s, %s works, and the next call too',
  async ([type, name]) => {
    const { agent, model, ran } = setUp([asking(type, name)]);
    const result = await agent.call('go');
    const state = { asked: model.requests.length, ran: ran.length, reason: result.reason };
    const expected: Readonly<Record<string, object>> = {
      'run-start reject': { asked: 0, ran: 0, reason: 'rejected' },
      'pre-call reject': { asked: 0, ran: 0, reason: 'rejected' },
      'pre-call stop': { asked: 0, ran: 0, reason: 'stopped-by-hook' },
      'pre-call jumpTo': { asked: 0, ran: 0, reason: 'stopped-by-hook' },
      'pre-reasoning stop': { asked: 0, ran: 0, reason: 'stopped-by-hook' },
      'pre-reasoning jumpTo': { asked: 0, ran: 0, reason: 'stopped-by-hook' },
      'pre-reasoning gotoReasoning': { asked: 2, ran: 2, reason: 'max-iterations' },
      'post-reasoning stop': { asked: 1, ran: 0, reason: 'stopped-by-hook' },
      'post-reasoning jumpTo': { asked: 1, ran: 0, reason: 'stopped-by-hook' },
      'post-reasoning gotoReasoning': { asked: 3, ran: 2, reason: 'max-iterations' },
      'post-acting stop': { asked: 1, ran: 2, reason: 'stopped-by-hook' },
      'post-acting jumpTo': { asked: 1, ran: 2, reason: 'stopped-by-hook' },
      'post-acting gotoReasoning': { asked: 3, ran: 4, reason: 'max-iterations' },
      'pre-acting stop': { asked: 1, ran: 0, reason: 'stopped-by-hook' },
      'pre-acting reject': { asked: 3, ran: 3, reason: 'max-iterations' },
      'pre-summary stop': { asked: 2, ran: 4, reason: 'stopped-by-hook' },
    };
    expect(state).toEqual(expected[`${type} ${name}`]);
    if (name === 'jumpTo') expect(result.text).toBe('Jumped.');
  },
);

test.for(['run-start', 'pre-call'] as const)(
  'what is rejected at %s has the reason as its answer, and nothing is stored',
  async (type) => {
    const { agent } = setUp([asking(type, 'reject')]);
    expect(await agent.call('go')).toMatchObject({
      reason: 'rejected',
      text: 'No.',
      error: { code: 'HOOK_REJECTED', message: 'No.' },
    });
    expect(await agent.messages()).toEqual([]);
    expect((await agent.call('again')).reason).toBe('max-iterations');
  },
);

test('after `stop` at `pre-acting`, all calls of the round stay open, and hooks see them again', async () => {
  const seen: string[] = [];
  let isFirst = true;
  const stopping: Middleware = {
    on: {
      'pre-acting'({ toolUse }, { stop }) {
        seen.push(toolUse.id);
        if (toolUse.id !== 'b1' || !isFirst) return;
        isFirst = false;
        stop();
      },
    },
  };
  const { agent, ran } = setUp([stopping]);
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual([]);
  const messages = await agent.messages();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  await agent.call();
  expect(ran.slice(0, 2).toSorted()).toEqual(['a1', 'b1']);
  expect(seen.slice(0, 3)).toEqual(['a1', 'b1', 'b1']);
});

test('after `stop` at `post-acting`, calls that wait for their turn do not start', async () => {
  const ran: string[] = [];
  const look = tool({
    name: 'look',
    description: '',
    input: {},
    execute: (_input, { toolUseId }) => {
      ran.push(toolUseId);
      return 'seen';
    },
  });
  const toolCalls = ['a', 'b', 'c'].map((id) => ({ name: 'look', id }));
  const agentWith = (calls: readonly { readonly name: string; readonly id: string }[]) =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel([{ toolCalls: calls }, 'done']),
      tools: [look],
      limits: { parallelTools: 1 },
      use: [{ on: { 'post-acting': (_event, { stop }) => stop() } }],
    });
  expect((await agentWith(toolCalls).call('go')).reason).toBe('stopped-by-hook');
  // The second one took the first one's place before the hook was asked.
  expect(ran).toEqual(['a', 'b']);
  const unknown = agentWith([{ name: 'unknown', id: 'x' }, ...toolCalls]);
  expect((await unknown.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual(['a', 'b']);
});

test('a stop wins over a jump that was asked for before', async () => {
  const { agent, ran } = setUp([
    {
      on: {
        'post-acting': ({ toolUse }, { jumpTo, stop }) =>
          toolUse.id === 'a1' ? jumpTo('model') : stop(),
      },
    },
  ]);
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toHaveLength(2);
});

test('decisions outlive a stop at `pre-call`, and a jump to the tools carries them out', async () => {
  for (const ask of ['stop', 'jump'] as const) {
    const ran: string[] = [];
    const pay = tool({
      name: 'pay',
      description: '',
      input: {},
      needsApproval: true,
      execute: () => String(ran.push('pay')),
    });
    let isFirst = true;
    const agent = new ReActAgent({
      name: 'a',
      model: new ScriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done']),
      tools: [pay],
      use: [
        {
          on: {
            'pre-call'({ input }, { stop, jumpTo }) {
              if (input.length || !isFirst) return;
              isFirst = false;
              if (ask === 'stop') stop();
              else jumpTo('tools');
            },
          },
        },
      ],
    });
    const { pending } = await agent.call('go');
    const approval = { toolUseId: pending[0]!.toolUseId, type: 'approve' } as const;
    const result = await agent.call([approval]);
    expect(result.reason).toBe(ask === 'stop' ? 'stopped-by-hook' : 'stop');
    if (ask === 'stop') expect((await agent.call()).text).toBe('done');
    expect(ran).toEqual(['pay']);
  }
});

test('hooks behind one that rejects the call are not asked', async () => {
  const asked: string[] = [];
  const { agent } = setUp([
    asking('pre-call', 'reject'),
    { on: { 'pre-call': () => void asked.push('second') } },
  ]);
  await agent.call('go');
  expect(asked).toEqual([]);
});

test('after `stop` at `pre-call`, the input is in the log', async () => {
  const { agent } = setUp([asking('pre-call', 'stop')]);
  await agent.call('go');
  expect((await agent.messages()).map(textOf)).toEqual(['go']);
});

test('a control exists in the type only where it works', () => {
  expectTypeOf<keyof ControlOf<'run-start'>>().toEqualTypeOf<'reject'>();
  expectTypeOf<keyof ControlOf<'pre-call'>>().toEqualTypeOf<'reject' | 'stop' | 'jumpTo'>();
  expectTypeOf<keyof ControlOf<'pre-acting'>>().toEqualTypeOf<'stop' | 'reject'>();
  expectTypeOf<keyof ControlOf<'pre-summary'>>().toEqualTypeOf<'stop'>();
  expectTypeOf<keyof ControlOf<'post-call'>>().toEqualTypeOf<never>();
});
