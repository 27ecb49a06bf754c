import { expect, expectTypeOf, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';
import type { HookControls, HookEvent } from './hook.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { textOf, toolResultsOf, userMessage, type Msg } from '../message/msg.ts';
import { positionHooks } from '@isoloop/presets';
import { longTermMemory } from '@isoloop/recall';
import { saveState } from '../state/agent-state.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { ScriptedModel, type ScriptedStep } from '../testing/scripted-model.ts';
import { toolResult } from '../tool/tool-call.ts';
import { tool } from '../tool/tool.ts';
import { look as plainLook, pay } from '@test/support/plain-tools.ts';
import { calls as callsOf, scriptedAgent } from '@test/support/scripted-agent.ts';
import { nestedHooks } from '../agent/nested.ts';
import { approvals } from '../approval/approvals.ts';
import type {
  AgentHook,
  EarlyRun,
  Hooks,
  Middleware,
  UseList,
  InnerStep,
} from '../agent/middleware.ts';
import type { Next } from '../agent/next.ts';
import type { Run } from '../agent/seam/run.ts';

type EventType = AgentEvent['type'];
type ControlName = keyof HookControls;

/** The control functions that each event offers. */
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
  'tool-input-chunk': [],
  'acting-chunk': [],
  'summary-chunk': [],
  'context-fitted': [],
  'step-reset': [],
  'post-summary': [],
  suspended: [],
  'run-end': [],
};
const names: readonly ControlName[] = ['stop', 'jumpTo', 'gotoReasoning', 'reject'];
const rows = Object.entries(allowed) as [EventType, readonly ControlName[]][];

/** Events that come by the thousand. Hooks get them as they are, without controls. */
const deltas: readonly EventType[] = ['reasoning-chunk', 'tool-input-chunk', 'summary-chunk'];

interface Setting extends Partial<AgentOptions> {
  readonly hook?: AgentHook;
}

function withSetting({ use = [], hook, ...options }: Setting) {
  const made = setUp(use, options);
  if (hook) made.agent.addHook(hook);
  return made;
}

/**
 * Creates an agent that makes two rounds of tool calls and then, at the limit of iterations, a
 * summary.
 */
function setUp(use: UseList, options: Partial<AgentOptions> = {}) {
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
  const { agent, model } = scriptedAgent(
    Array.from({ length: 9 }, () => reply),
    { tools: [look], limits: { iterations: 2 }, ...options, use },
  );
  return { agent, model, ran };
}

const args = { stop: [], jumpTo: ['end', 'Jumped.'], gotoReasoning: [[]], reject: ['No.'] };

/** Returns an event with the type of one that has all controls. */
const controlsIn = (event: AgentEvent): HookControls => event as AgentEvent & HookControls;

/** Creates a hook that calls a control function at the first event of a type. */
function asking(type: EventType, name: ControlName, given: readonly unknown[] = args[name]) {
  let isFirst = true;
  return {
    name: 'asking',
    on: {
      '*'(event) {
        if (event.type !== type || !isFirst) return;
        isFirst = false;
        (controlsIn(event)[name] as (...given: unknown[]) => void)(...given);
      },
    },
  } satisfies Middleware;
}

/** Middleware that makes a run emit its rarer events. */
const eventful: Readonly<Partial<Record<EventType, Middleware>>> = {
  'context-fitted': {
    wrapRequest: async (draft, next, run) => {
      await run.events.emit('context-fitted', { removed: 1, before: 2, after: 1 });
      return next(draft);
    },
  },
  'step-reset': {
    on: { 'post-summary': (event) => ({ ...event, message: { ...event.message } }) },
  },
  suspended: approvals({ needsApproval: { '*': true } }),
};

const refusedUses = rows.flatMap(([type, may]) =>
  names.filter((name) => !may.includes(name)).map((name) => [type, name] as const),
);

test.for(refusedUses.filter(([type]) => deltas.includes(type)))(
  'a hook at the delta %s that calls %s fails the call, because a delta has no controls',
  async ([type, name]) => {
    const { agent } = setUp([asking(type, name)]);
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'HOOK_ERROR',
      message: expect.stringMatching(
        new RegExp(`^Hook "asking" failed at ${type}: .*is not a function`),
      ) as string,
      details: { hook: 'asking', event: type },
    });
  },
);

test.for(refusedUses.filter(([type]) => !deltas.includes(type)))(
  'a hook at %s that calls the control %s, which this event does not have, fails the call',
  async ([type, name]) => {
    const { agent } = setUp([eventful[type] ?? {}, asking(type, name)]);
    const call = agent.call('go');
    await expect(call).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining(
        `Hook "asking": There is no control \`${name}\` at ${type}`,
      ) as string,
      details: { hook: 'asking', control: name, event: type },
    });
  },
);

test("`onError: 'ignore'` does not ignore the misuse of a control function", async () => {
  const ignoring = { ...asking('post-call', 'stop'), onError: 'ignore' } as const;
  await expect(setUp([ignoring]).agent.call('go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
  const { agent } = setUp([asking('post-call', 'stop')], { onHookError: 'ignore' });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test.for(names)('in a hook for `error`, the control %s does not hide the failure', async (name) => {
  const { agent } = scriptedAgent([{ error: new AgentError('MODEL_AUTH', 'No key.') }], {
    use: [asking('error', name)],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'MODEL_AUTH' });
});

test.for(rows.flatMap(([type, may]) => may.map((name) => [type, name] as const)))(
  'in a hook for %s, calling %s after the hook has ended throws and changes nothing',
  async ([type, name]) => {
    let late: Promise<unknown> | undefined;
    const { agent } = setUp([
      {
        on: {
          '*'(event) {
            if (event.type !== type || late) return;
            const use = controlsIn(event)[name] as (...given: unknown[]) => void;
            // This code runs after the hook has returned.
            late = Promise.resolve()
              .then(() => {})
              .then(() => {})
              .then(() => use(...args[name]))
              .catch((error: unknown) => error);
          },
        },
      },
    ]);
    expect((await agent.call('go')).reason).toBe('max-iterations');
    expect(await late).toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining(name) as string,
    });
  },
);

test('a rejection without a reason has a default text', async () => {
  for (const type of ['run-start', 'pre-call'] as const) {
    const result = await setUp([asking(type, 'reject', [])]).agent.call('go');
    expect(result).toMatchObject({
      reason: 'rejected',
      text: 'A hook rejected the call.',
      error: { code: 'HOOK_REJECTED', message: 'A hook rejected the call.' },
    });
  }
  const { agent } = setUp([asking('pre-acting', 'reject', [])]);
  await agent.call('go');
  const denied = (await agent.messages()).flatMap(toolResultsOf)[0];
  expect(denied).toMatchObject({ state: 'denied', output: 'Tool call rejected: no reason given' });
});

test('if a hook rejects twice, the first rejection counts', async () => {
  const twice = (type: EventType): Middleware => ({
    on: {
      '*'(event) {
        if (event.type !== type) return;
        controlsIn(event).reject('First.');
        controlsIn(event).reject('Second.');
      },
    },
  });
  for (const type of ['run-start', 'pre-call'] as const)
    expect((await setUp([twice(type)]).agent.call('go')).text).toBe('First.');
  const { agent } = setUp([twice('pre-acting')]);
  await agent.call('go');
  expect((await agent.messages()).flatMap(toolResultsOf)[0]).toMatchObject({
    output: 'Tool call rejected: First.',
  });
});

test('a rejection takes precedence over a stop at `pre-call`, and a stop takes precedence at `pre-acting`', async () => {
  const both = (type: EventType): Middleware => ({
    on: {
      '*'(event) {
        if (event.type !== type) return;
        controlsIn(event).stop();
        controlsIn(event).reject('No.');
      },
    },
  });
  const refused = setUp([both('pre-call')]);
  expect((await refused.agent.call('go')).reason).toBe('rejected');
  expect(await refused.agent.messages()).toEqual([]);
  const stopped = setUp([both('pre-acting')]);
  expect((await stopped.agent.call('go')).reason).toBe('stopped-by-hook');
  expect(stopped.ran).toEqual([]);
});

const rejecting = {
  'pre-call': (event: HookEvent<'pre-call'>) => event.reject('No.'),
};
const misusing = {
  'post-call': (event: object) => (event as HookControls).stop(),
};

type AnyHandler = (event: AgentEvent, run: EarlyRun) => void;

/** Returns one handler for all events. It calls the handler in `on` for the event’s type. */
const asOne = (on: Hooks): AnyHandler => {
  const handlers = on as unknown as Readonly<Record<string, AnyHandler | undefined>>;
  return (event, ...more) => handlers[event.type]?.(event, ...more);
};

test.for<[where: string, add: (on: Hooks) => Setting]>([
  ['`use`', (on) => ({ use: [{ on }] })],
  [
    'a preset',
    (on) => ({
      use: [
        [
          { name: 'preset', defaults: {} },
          { name: 'part', on },
        ],
      ],
    }),
  ],
  ['`*`', (on) => ({ use: [{ on: { '*': asOne(on) } }] })],
  ['`addHook`', (on) => ({ hook: { on } })],
  [
    '`positionHooks`',
    (on) => ({
      use: [
        positionHooks([
          { name: 'one', beforeAgent: on['pre-call'], afterAgent: on['post-call'] } as never,
        ]),
      ],
    }),
  ],
])('controls work and fail in the same way in a hook of %s', async ([, add]) => {
  for (const throwOnError of [true, false]) {
    const refused = withSetting(add(rejecting as never));
    const events: AgentEvent[] = [];
    for await (const event of refused.agent.stream('go', { throwOnError })) events.push(event);
    const rejected = { reason: 'rejected', text: 'No.', error: { code: 'HOOK_REJECTED' } };
    expect(events.at(-1)).toMatchObject({ type: 'run-end', result: rejected });
    expect(events.map(({ type }) => type)).not.toContain('error');
    expect(await refused.agent.call('go', { throwOnError })).toMatchObject(rejected);
    expect(refused.ran).toEqual([]);
    expect(refused.model.requests).toEqual([]);
    expect(await refused.agent.messages()).toEqual([]);

    const { agent } = withSetting(add(misusing as never));
    const error = { code: 'CONFIGURATION' };
    const call = agent.call('go', { throwOnError });
    if (throwOnError) await expect(call).rejects.toMatchObject(error);
    else expect(await call).toMatchObject({ reason: 'error', error });
    const stream = agent.stream(undefined, { throwOnError: false });
    await stream.result;
  }
});

test('rejected content is stored neither in the session nor in the state nor in long-term memory', async () => {
  for (const type of ['run-start', 'pre-call'] as const) {
    const store = new MemoryStore();
    const facts: string[] = [];
    const known = longTermMemory({
      mode: 'auto',
      memory: {
        retrieve: async () => [],
        record: async (messages) => void facts.push(JSON.stringify(messages)),
        delete: async () => {},
        deleteSession: async () => {},
        clear: async () => {},
      },
    });
    const { agent } = scriptedAgent([], {
      memory: new SessionMemory(store, 's'),
      use: [known, asking(type, 'reject')],
    });
    await agent.call('the secret');
    expect(await store.keys('')).toEqual([]);
    expect(facts).toEqual([]);
    expect(JSON.stringify(await saveState(agent))).not.toContain('secret');
  }
});

test.for(rows.flatMap(([type, may]) => may.map((name) => [type, name] as const)))(
  'in a hook for %s, the control %s works, and the next call works too',
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
  'a rejection at %s returns its reason as the answer, and nothing is stored',
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

test('after `stop` at `pre-acting`, all tool calls of the reply stay open, and the next call runs the hooks again', async () => {
  const seen: string[] = [];
  let isFirst = true;
  const stopping: Middleware = {
    on: {
      'pre-acting'({ toolUse, stop }) {
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

test('after `stop` at `post-acting`, queued tool calls do not start', async () => {
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
      use: [{ on: { 'post-acting': ({ stop }) => stop() } }],
    });
  expect((await agentWith(toolCalls).call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual(['a']);
  const unknown = agentWith([{ name: 'unknown', id: 'x' }, ...toolCalls]);
  expect((await unknown.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual(['a']);
});

test.for(
  (['pre-call', 'pre-reasoning', 'post-reasoning', 'post-acting'] as const).flatMap((type) =>
    (['jumpTo', 'gotoReasoning'] as const)
      .filter((name) => type !== 'pre-call' || name === 'jumpTo')
      .map((name) => [type, name] as const),
  ),
)('at %s, a `stop` takes precedence over an earlier `%s` of another hook', async ([type, name]) => {
  const { agent, model } = setUp([
    asking(type, name),
    { ...asking(type, 'stop'), name: 'stopping' },
  ]);
  expect(await agent.call('go')).toMatchObject({ reason: 'stopped-by-hook', stoppedAt: type });
  expect(model.requests).toHaveLength(type.startsWith('pre-') ? 0 : 1);
  expect((await agent.messages()).map(textOf)).not.toContain('Jumped.');
});

test('a `stop` takes precedence over an earlier jump about another tool call', async () => {
  const { agent, ran } = setUp([
    {
      on: {
        'post-acting': ({ toolUse, jumpTo, stop }) =>
          toolUse.id === 'a1' ? jumpTo('model') : stop(),
      },
    },
  ]);
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toHaveLength(2);
});

test.for(['wrapReply', 'wrapRound'] as const)(
  'a `stop` at the result of a call that %s closes counts, though the model would come next',
  async (key) => {
    const external = tool({ name: 'external', description: '', input: {} });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'external' }] }, 'Never said.']);
    const closing: Middleware = {
      [key]: async (value: unknown, next: InnerStep<unknown, Next>, run: Run): Promise<Next> => {
        await next(value);
        const [open] = run.calls.open;
        if (open) await run.calls.close(open.toolUse, toolResult(open.toolUse, 'x', 'success'));
        return { to: 'model' };
      },
    };
    const agent = new ReActAgent({
      name: 'a',
      model,
      tools: [external],
      use: [closing, { on: { 'post-acting': (event) => event.stop() } }],
    });
    expect(await agent.call('go')).toMatchObject({ reason: 'stopped-by-hook', iterations: 1 });
    expect(toolResultsOf((await agent.messages()).at(-1)!)).toMatchObject([{ output: 'x' }]);
  },
);

test.for(['tools', 'model'] as const)(
  'a `stop` at a call that a wrapper closes leaves the other calls open if "%s" come next',
  async (to) => {
    const external = tool({ name: 'external', description: '', input: {} });
    const model = new ScriptedModel([
      { toolCalls: ['a', 'b'].map((id) => ({ name: 'external', id })) },
    ]);
    const closing: Middleware = {
      wrapReply: async (reply, next, run) => {
        await next(reply);
        const { toolUse } = run.calls.open[0]!;
        await run.calls.close(toolUse, toolResult(toolUse, 'x', 'success'));
        return { to };
      },
    };
    const agent = new ReActAgent({
      name: 'a',
      model,
      tools: [external],
      use: [closing, { on: { 'post-acting': (event) => event.stop() } }],
    });
    expect(await agent.call('go')).toMatchObject({ reason: 'stopped-by-hook' });
    const results = (await agent.messages()).flatMap(toolResultsOf);
    expect(results.map(({ toolUseId }) => toolUseId)).toEqual(['a']);
  },
);

test('a `stop` at a decided result counts, though `wrapRound` left the call out', async () => {
  const leavingOut: Middleware = {
    wrapRound: (round, next) =>
      next({ ...round, calls: round.calls.filter(({ state }) => !state.decision) }),
  };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', id: 'c1' }] }, 'Never said.']);
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [pay],
    use: [leavingOut, { on: { 'post-acting': (event) => event.stop() } }],
  });
  await agent.call('go');
  const result = await agent.call([{ toolUseId: 'c1', type: 'reject' }]);
  expect(result).toMatchObject({ reason: 'stopped-by-hook', stoppedAt: 'post-acting' });
});

test('a `stop` about one tool call ends the run, though the wrapper of another one revises an event', async () => {
  let tellStopped: (() => void) | undefined;
  const stopped = new Promise<void>((resolve) => {
    tellStopped = resolve;
  });
  const revised: unknown[] = [];
  const { agent, model } = setUp([
    {
      on: {
        'post-acting': ({ toolUse, stop }) => {
          if (toolUse.id !== 'a1') return;
          stop();
          tellStopped?.();
        },
      },
      wrapTool: async (call, next, run) => {
        if (call.toolUse.id === 'b1') {
          await stopped;
          const message = run.createMessage('assistant', 'A note.');
          revised.push(await run.events.revise('post-summary', { message }));
        }
        return next(call);
      },
    },
  ]);
  expect(await agent.call('go')).toMatchObject({
    reason: 'stopped-by-hook',
    stoppedAt: 'post-acting',
  });
  expect(revised).toEqual([{ event: expect.objectContaining({ type: 'post-summary' }) }]);
  expect(model.requests).toHaveLength(1);
});

test.for(['stop', "jumpTo('end')"] as const)(
  'a reply that %s makes the answer is stored as the `post-call` hooks leave it',
  async (how) => {
    const { agent } = setUpMasked(
      how === 'stop' ? ({ stop }) => stop() : ({ jumpTo }) => jumpTo('end'),
    );
    const { text } = await agent.call('Go');
    const last = (await agent.messages()).at(-1)!;
    expect([text, textOf(last)]).toEqual(['Masked.', 'Masked.']);
  },
);

test('the answer of `jumpTo` may not have the id of the reply that it replaces', async () => {
  const { agent } = setUpMasked(({ jumpTo }, message) => jumpTo('end', [message]));
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

function setUpMasked(act: (event: HookEvent<'post-reasoning'>, message: Msg) => void): {
  readonly agent: ReActAgent;
} {
  const masking: Hooks = {
    'post-reasoning': (event) => act(event, event.message),
    'post-call': (event) => ({
      ...event,
      message: { ...event.message, content: [{ type: 'text', text: 'Masked.' }] },
    }),
  };
  const model = new ScriptedModel(['A secret.']);
  return { agent: new ReActAgent({ name: 'a', model, use: [{ on: masking }] }) };
}

test('a tool result that ends a jump is the result of its call, and the reply is the answer', async () => {
  const model = new ScriptedModel([{ text: 'I look.', toolCalls: [{ name: 'look', id: 'one' }] }]);
  const giving: Hooks = {
    'post-reasoning': ({ jumpTo }) =>
      jumpTo('end', [
        {
          id: 'mine',
          createdAt: '2026-01-01T00:00:00.000Z',
          role: 'tool',
          content: [
            {
              type: 'tool_result',
              toolUseId: 'one',
              name: 'look',
              output: 'Mine.',
              state: 'success',
            },
          ],
        },
      ]),
  };
  const agent = new ReActAgent({ name: 'a', model, use: [{ on: giving }] });
  expect((await agent.call('Go')).text).toBe('I look.');
  const messages = await agent.messages();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ output: 'Mine.' }]);
});

test('a tool runs if a hook asks for `stop` while the store records its start', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const ran: string[] = [];
  const toolNamed = (name: string) =>
    tool({ name, description: name, input: {}, execute: () => void ran.push(name) });
  let onStop = (): void => {};
  const stopAsked = new Promise<void>((resolve) => (onStop = resolve));
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'quick' }, { name: 'slow' }] }], {
    tools: [toolNamed('quick'), toolNamed('slow')],
    memory,
    use: [
      {
        on: {
          'post-acting': ({ toolUse, stop }) => {
            if (toolUse.name !== 'quick') return;
            stop();
            onStop();
          },
        },
      },
    ],
  });
  const { note } = memory;
  memory.note = async (notes, options) => {
    await note.call(memory, notes, options);
    const isSlow = notes.some((one) => one.kind === 'call-started' && one.toolUse?.name === 'slow');
    if (isSlow) await stopAsked;
  };
  expect(await agent.call('Go')).toMatchObject({ reason: 'stopped-by-hook' });
  expect(ran).toEqual(['quick', 'slow']);
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ state }) => state)).toEqual(['success', 'success']);
});

test("decisions are kept after a stop at `pre-call`, and `jumpTo('tools')` applies them", async () => {
  for (const ask of ['stop', 'jump'] as const) {
    const ran: string[] = [];
    const payment = tool({
      name: 'pay',
      description: '',
      input: {},
      needsApproval: true,
      execute: () => String(ran.push('pay')),
    });
    let isFirst = true;
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay' }] }, 'done'], {
      tools: [payment],
      use: [
        {
          on: {
            'pre-call'({ input, stop, jumpTo }) {
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

test('hooks after a hook that rejects the call do not run', async () => {
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

type ControlsOf<K extends EventType> = Extract<keyof HookEvent<K>, ControlName>;

test('the type of an event has a control only where the control works', () => {
  expectTypeOf<ControlsOf<'run-start'>>().toEqualTypeOf<'reject'>();
  expectTypeOf<ControlsOf<'pre-call'>>().toEqualTypeOf<'reject' | 'stop' | 'jumpTo'>();
  expectTypeOf<ControlsOf<'pre-acting'>>().toEqualTypeOf<'stop' | 'reject'>();
  expectTypeOf<ControlsOf<'pre-summary'>>().toEqualTypeOf<'stop'>();
  expectTypeOf<ControlsOf<'post-call'>>().toEqualTypeOf<never>();
  expectTypeOf<Extract<keyof AgentEvent, ControlName>>().toEqualTypeOf<never>();
});

test('the wrong use of a control does not compile', () => {
  const wrong: Hooks = {
    // @ts-expect-error An answer that has ended cannot be stopped.
    'post-call': (event) => event.stop(),
    // @ts-expect-error Only the loop can refuse a reply.
    'post-reasoning': ({ reject }) => reject('No.'),
    // @ts-expect-error A reason is a text.
    'pre-acting': (event) => event.reject(7),
    // @ts-expect-error The second argument is the run, which has no controls.
    'pre-reasoning': (_event, run) => run.stop(),
    // @ts-expect-error Not all events have this control.
    '*': (event) => event.stop(),
    // @ts-expect-error No event has this name.
    'pre-action': () => {},
  };
  const union: Hooks = {
    '*'(event, run) {
      expectTypeOf(run).toEqualTypeOf<EarlyRun>();
      if (event.type === 'pre-acting') event.reject(event.toolUse.name);
      // @ts-expect-error One of these two events does not have the control.
      if (event.type === 'run-start' || event.type === 'pre-call') event.jumpTo('end');
      if (event.type === 'pre-call' || event.type === 'pre-reasoning') event.jumpTo('end');
    },
  };
  expect([wrong, union]).toHaveLength(2);
});

test('a hook of all events steers the run with the controls of the type that it narrows to', async () => {
  const steering: Middleware = {
    on: {
      '*'(event) {
        if (event.type === 'pre-acting' && event.toolUse.id === 'a1') event.reject('Not this one.');
        if (event.type === 'post-acting' && event.toolUse.id === 'b1') event.stop();
      },
    },
  };
  const { agent, ran } = setUp([steering]);
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual(['b1']);
  expect((await agent.messages()).flatMap(toolResultsOf)[0]).toMatchObject({ state: 'denied' });
});

test('a copy of an event, its JSON and a message of it have no controls, and comparisons ignore them', async () => {
  const kept: AgentEvent[] = [];
  const { agent } = setUp([
    {
      on: {
        '*'(event) {
          const hasControls = !('delta' in event);
          expect('stop' in event).toBe(hasControls);
          for (const copy of [
            { ...event },
            structuredClone(event),
            JSON.parse(JSON.stringify(event)) as AgentEvent,
          ]) {
            for (const name of names) expect(name in copy).toBe(false);
            expect(event).toEqual(copy);
          }
          expect({ ...event }).toStrictEqual(event);
          expect(Object.isFrozen(event)).toBe(true);
          kept.push(event);
        },
      },
    },
  ]);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go')) events.push(event);
  expect(kept.filter(({ type }) => type === 'pre-acting')).toHaveLength(4);
  expect(events).toEqual(kept);
});

test('readers get events without controls, also if a hook returns the event of another hook', async () => {
  let others: AgentEvent | undefined;
  const { agent } = setUp([
    { on: { 'post-acting': (event) => event, '*': (event) => void (others = event) } },
    {
      on: {
        '*': (event) => (event.type.startsWith('pre-') ? others : undefined),
      },
    },
  ]);
  const heard: AgentEvent[] = [];
  agent.addHook({ on: { '*': (event) => void heard.push(event) } });
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go')) events.push(event);
  expect(heard.some((event) => 'stop' in event)).toBe(true);
  for (const event of events) for (const name of names) expect(name in event).toBe(false);
  expect(events.map(({ type }) => type)).toEqual(heard.map(({ type }) => type));
});

test('the controls of one handler end with it, although the next handler may still use its own', async () => {
  let earlier: HookEvent<'pre-reasoning'> | undefined;
  let error: unknown;
  const first: AgentHook = {
    name: 'first',
    on: { 'pre-reasoning': (event) => void (earlier = event) },
  };
  const second: AgentHook = {
    on: {
      'pre-reasoning'(event) {
        try {
          earlier?.stop();
        } catch (thrown) {
          error = thrown;
        }
        event.jumpTo('end', 'Over.');
      },
    },
  };
  const { agent } = setUp([first, second]);
  expect((await agent.call('go')).text).toBe('Over.');
  expect(error).toMatchObject({
    code: 'CONFIGURATION',
    message: 'Hook "first": `stop` was called after the hook at pre-reasoning had ended.',
    details: { hook: 'first', control: 'stop', event: 'pre-reasoning' },
  });
});

test('nested hooks have the controls of the event that they get, and a copy gives them none', async () => {
  const stops: AgentHook = { name: 'inner', on: { 'post-reasoning': (event) => event.stop() } };
  const passing = (ask: (event: HookEvent<'post-reasoning'>) => EventOf<'post-reasoning'>) =>
    setUp([
      {
        on: {
          'post-reasoning': (event, run) =>
            nestedHooks(run, [stops]).ask<'post-reasoning'>(ask(event)),
        },
      },
    ]).agent.call('go');
  expect((await passing((event) => event)).reason).toBe('stopped-by-hook');
  await expect(passing((event) => ({ ...event }))).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: 'Hook "inner": There is no control `stop` at post-reasoning.',
  });
});

test.for([
  ['gotoReasoning', ['A.', 'B.', 'C.'], 'post-reasoning'],
  ['jumpTo', ['A.', 'B.', 'C.'], 'post-reasoning'],
  ['gotoReasoning', [callsOf('look'), callsOf('look'), 'C.'], 'post-acting'],
] as const)(
  '%s with one message in two rounds fails with the name of the hook, the event and the advice',
  async ([name, replies, at]) => {
    const hint = userMessage('Try again.', { id: 'hint' });
    const ask = (event: HookControls): void => {
      if (name === 'gotoReasoning') event.gotoReasoning([hint]);
      else event.jumpTo('model', [hint]);
    };
    const redirect: AgentHook = {
      name: 'redirect',
      on: { [at]: ask },
    };
    const position = { name: 'afterModel', afterModel: ask };
    const hooks =
      at === 'post-acting' ? [redirect] : [redirect, positionHooks([position as never])];
    for (const part of hooks) {
      const { agent } = scriptedAgent(replies, { use: [part], tools: [plainLook] });
      const who = part === redirect ? 'redirect' : 'afterModel';
      await expect(agent.call('go')).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: `Hook "${who}" at ${at}: The id "hint" is in use. Create a new message each time.`,
        details: { id: 'hint', hook: who, event: at },
      });
    }
  },
);

test.each(['gotoReasoning', 'pre-call'])(
  'one message twice in one list of %s fails with the name of the hook and the advice',
  async (name) => {
    const hint = userMessage('Try again.', { id: 'hint' });
    const twice: AgentHook = {
      name: 'twice',
      on:
        name === 'pre-call'
          ? { 'pre-call': (event) => ({ ...event, input: [hint, hint] }) }
          : { 'post-reasoning': ({ gotoReasoning }) => gotoReasoning([hint, hint]) },
    };
    const { agent } = scriptedAgent(['A.', 'B.'], { use: [twice] });
    await expect(agent.call('go')).rejects.toMatchObject({
      message: expect.stringMatching(
        /^Hook "twice" .*The id "hint" is in use\. Create a new message each time\.$/,
      ),
      details: { hook: 'twice' },
    });
  },
);

test('a message that a pre-call hook adds to each call fails at the second one, with the advice', async () => {
  const hint = userMessage('Be brief.', { id: 'hint' });
  const adds: AgentHook = {
    name: 'adds',
    on: { 'pre-call': (event) => ({ ...event, input: [...event.input, hint] }) },
  };
  const { agent } = scriptedAgent(['A.', 'B.'], { use: [adds] });
  await agent.call('go');
  await expect(agent.call('on')).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: 'The id "hint" is in use. A pre-call hook must create a new message each time.',
  });
});
