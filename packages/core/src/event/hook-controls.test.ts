import { expect, expectTypeOf, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { AgentError } from '../error/agent-error.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';
import type { HookControls, HookEvent } from './hook.ts';
import { toolResultsOf } from '../message/msg.ts';
import { positionHooks } from '@isoloop/presets';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { nestedHooks } from '../agent/nested.ts';
import { approvals } from '../approval/approvals.ts';
import type { AgentHook, EarlyRun, Hooks, Middleware } from '../agent/middleware.ts';
import {
  type EventType,
  type ControlName,
  lookingAgent,
  controlArgs,
  controlsIn,
  asking,
} from '@test/support/asking-hook.ts';

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
  const made = lookingAgent(use, options);
  if (hook) made.agent.addHook(hook);
  return made;
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
    const { agent } = lookingAgent([asking(type, name)]);
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
    const { agent } = lookingAgent([eventful[type] ?? {}, asking(type, name)]);
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
  await expect(lookingAgent([ignoring]).agent.call('go')).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  const { agent } = lookingAgent([asking('post-call', 'stop')], { onHookError: 'ignore' });
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
    const { agent } = lookingAgent([
      {
        on: {
          '*'(event) {
            if (event.type !== type || late) return;
            const use = controlsIn(event)[name] as (...given: unknown[]) => void;
            // This code runs after the hook has returned.
            late = Promise.resolve()
              .then(() => {})
              .then(() => {})
              .then(() => use(...controlArgs[name]))
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

test.for(rows.flatMap(([type, may]) => may.map((name) => [type, name] as const)))(
  'in a hook for %s, the control %s works, and the next call works too',
  async ([type, name]) => {
    const { agent, model, ran } = lookingAgent([asking(type, name)]);
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
  const { agent, ran } = lookingAgent([steering]);
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(ran).toEqual(['b1']);
  expect((await agent.messages()).flatMap(toolResultsOf)[0]).toMatchObject({ state: 'denied' });
});

test('a copy of an event, its JSON and a message of it have no controls, and comparisons ignore them', async () => {
  const kept: AgentEvent[] = [];
  const { agent } = lookingAgent([
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
  const { agent } = lookingAgent([
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
  const { agent } = lookingAgent([first, second]);
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
    lookingAgent([
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
