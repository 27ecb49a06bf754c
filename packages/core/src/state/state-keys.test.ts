import { expect, expectTypeOf, test } from 'vitest';
import type { Hook } from '../event/hook.ts';
import { retry } from '../resilience/retry.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { structured } from '../output/structured.ts';
import * as z from 'zod';
import { loadState, saveState } from './agent-state.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { modelRequestLimit } from '../limits/model-request-limit.ts';
import type { Middleware } from '../agent/middleware.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { appendKey, mergeKey, replaceKey } from './state-key.ts';
import { stateKeys } from './state-keys.ts';

const keys = () =>
  stateKeys(
    {
      notes: appendKey<string>(),
      city: replaceKey<string>(),
      facts: mergeKey<{ a: number; b: number }>(),
      question: replaceKey(''),
      answer: appendKey<unknown>(),
    },
    { inputKey: 'question', outputKey: 'answer' },
  );
type State = ReturnType<typeof keys>;

const input = { type: 'object', properties: { note: { type: 'string' } } } as const;
/** Creates a tool that writes immediately, and again after all its calls have begun. */
function noteTool(state: State, calls: number) {
  let left = calls;
  let open = (): void => {};
  const all = new Promise<void>((resolve) => (open = resolve));
  return tool({
    name: 'note',
    description: '',
    input,
    async execute(given, context) {
      const { note } = given as { note: string };
      const session = state.of(context);
      session.write({ notes: note, facts: { [note]: left } });
      if (!--left) open();
      await all;
      session.write({ notes: [`${note} again`], city: note });
      return session.read('notes').length;
    },
  });
}

function setUp(
  replies: readonly ScriptedReply[],
  state: State,
  options: Partial<AgentOptions> = {},
) {
  const model = new ScriptedModel(replies);
  return new ReActAgent({
    name: 'a',
    model,
    tools: [noteTool(state, 2)],
    ...options,
    use: [state, ...(options.use ?? [])],
  });
}

const notes = (...all: string[]): ScriptedReply => ({
  toolCalls: all.map((note) => ({ name: 'note', input: { note } })),
});

test('parallel tools write state values with the strategy of each key', async () => {
  const state = keys();
  const agent = setUp([notes('a', 'b'), 'Done.'], state);
  await agent.call('go');
  const session = state.of(agent);
  expect(session.read('notes').toSorted()).toEqual(['a', 'a again', 'b', 'b again']);
  expect(session.read('facts')).toEqual({ a: 2, b: 1 });
  expect(['a', 'b']).toContain(session.read('city'));
  expectTypeOf(session.read('notes')).toEqualTypeOf<readonly string[]>();
  expectTypeOf(session.read('city')).toEqualTypeOf<string | undefined>();
});

test('hooks, wrappers and tools share one state, also through other wrappers between them', async () => {
  const state = keys();
  const seen: unknown[] = [];
  const hook: Hook = {
    on: { 'pre-reasoning': (event) => state.of(event).write({ notes: 'hook' }) },
  };
  const agent = setUp([notes('a'), 'Done.'], state, {
    use: [
      hook,
      {
        wrapTool: (call, next, run) => {
          state.of(run).write({ notes: 'wrapTool' });
          return next(call);
        },
        wrapRun: (given, next, run) => {
          state.of(run).write({ notes: 'wrapRun' });
          return next(given);
        },
      },
      retry(),
      {
        wrapModel: (next) => ({
          features: next.features,
          provider: next.provider,
          modelId: next.modelId,
          stream: (request, context) => {
            seen.push(state.of(context).read('notes'));
            return next.stream(request, context);
          },
        }),
      },
    ],
    tools: [noteTool(state, 1)],
  });
  await agent.call('go');
  expect(seen).toEqual([
    ['wrapRun', 'hook'],
    ['wrapRun', 'hook', 'wrapTool', 'a', 'a again', 'hook'],
  ]);
});

test('`inputKey` gets the guarded input, and `outputKey` gets the answer’s value or its text', async () => {
  const state = keys();
  const agent = setUp(['{"n":1}', 'Two.', { error: new Error('down') }], state, {
    use: [
      {
        wrapInput: (given, next) => {
          const content = [{ type: 'text', text: 'hidden' }] as const;
          const messages = given.messages.map((message) => ({ ...message, content }));
          return next({ ...given, messages });
        },
      },
    ],
  });
  await agent.call('secret', {
    output: structured(z.object({ n: z.number() }), { mode: 'prompt' }),
  });
  expect(state.of(agent).read('question')).toBe('hidden');
  await agent.call('and?');
  await agent.call('fails', { throwOnError: false });
  expect(state.of(agent).read('answer')).toEqual([{ n: 1 }, 'Two.']);
});

test('state values move to another process with a saved state, also in the middle of a run', async () => {
  const ask = tool({
    name: 'ask',
    description: '',
    input: { type: 'object' },
    needsApproval: true,
    execute: (_input, context) => {
      two.of(context).write({ notes: 'approved' });
      return 'ok';
    },
  });
  const one = keys();
  const first = setUp([{ toolCalls: [{ name: 'ask' }] }], one, {
    tools: [ask],
    use: [{ on: { 'pre-reasoning': (event) => one.of(event).write({ notes: 'before' }) } }],
  });
  expect((await first.call('go')).reason).toBe('suspended');
  const saved = JSON.parse(JSON.stringify(await saveState(first))) as unknown;
  const two = keys();
  const second = setUp(['Done.'], two, { tools: [ask] });
  await loadState(second, saved);
  await second.call([{ toolUseId: 'call_1', type: 'approve' }]);
  expect(two.of(second).read('notes')).toEqual(['before', 'approved']);
  expect(one.of(first).read('notes')).toEqual(['before']);
});

test.each(['step', 'turn'] as const)(
  'the next host gets the state values from the session’s log, also after a snapshot (%s)',
  async (durability) => {
    const store = new MemoryStore();
    const make = () =>
      stateKeys(
        { title: replaceKey('none'), list: appendKey<string>(), last: replaceKey<string>() },
        { outputKey: 'last' },
      );
    const open = (state: ReturnType<typeof make>, ...more: readonly Middleware[]) =>
      new ReActAgent({
        name: 'a',
        model: new ScriptedModel(['One.', 'Two.', 'Three.']),
        memory: new SessionMemory(store, 's', { durability, compactAfter: 1 }),
        use: [state, modelRequestLimit({ session: 2 }), ...more],
      });
    const first = make();
    const agent = open(first, {
      on: { 'pre-call': (event) => first.of(event).write({ list: 'a', title: 'Trip' }) },
    });
    await agent.call('go');

    const second = make();
    const seen: unknown[] = [];
    const other = open(second, {
      on: { 'pre-call': (event) => void seen.push(second.of(event).all()) },
    });
    await other.call('go');
    expect(seen).toEqual([{ title: 'Trip', list: ['a'], last: 'One.' }]);
    second.of(other).write({ list: 'b' });
    second.of(other).reset('title');

    const third = make();
    const refused = open(third);
    expect((await other.call('and?')).reason).toBe('limit');
    expect((await refused.call('and?')).reason).toBe('limit');
    expect(third.of(refused).all()).toEqual({
      title: 'none',
      list: ['a', 'b'],
      last: expect.stringContaining('2 of 2') as string,
    });

    const moved = open(make());
    await loadState(moved, JSON.parse(JSON.stringify(await saveState(other))));
    const last = make();
    const reopened = open(last);
    expect((await reopened.call('once more')).reason).toBe('limit');
    expect(last.of(reopened).read('list')).toEqual(['a', 'b']);
  },
);

test('loadState() replaces earlier values, and refuses a saved state without values', async () => {
  const state = keys();
  const agent = setUp([], state);
  state.of(agent).write({ notes: 'mine' });
  const saved = await saveState(setUp([], keys()));
  const { state: _state, ...without } = saved;
  await expect(loadState(agent, without)).rejects.toMatchObject({ code: 'INVALID_STATE' });
  expect(state.of(agent).read('notes')).toEqual(['mine']);
  await loadState(agent, saved);
  expect(state.of(agent).read('notes')).toEqual([]);
});

test('a loaded value of the wrong type fails the call', async () => {
  const agent = setUp([], keys());
  await loadState(agent, { ...(await saveState(agent)), state: { notes: 'no list' } });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'INVALID_STATE' });
});

test('values that are read are frozen, written values are copied, and an update applies completely or not at all', () => {
  const state = keys();
  const session = state.of(setUp([], state));
  const given = { a: 1, b: 2 };
  session.write({ facts: given });
  given.a = 3;
  expect(session.read('facts')).toEqual({ a: 1, b: 2 });
  expect(() => Object.assign(session.read('facts'), { a: 4 })).toThrow(TypeError);
  const cycle: Record<string, unknown> = {};
  cycle['of'] = cycle;
  expect(() => session.write({ city: 'Paris', answer: cycle })).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }) as Error,
  );
  expect(session.read('city')).toBeUndefined();
  session.reset('facts', { a: 5 });
  expect(session.read('facts')).toEqual({ a: 5 });
  session.reset('facts');
  expect(session.read('facts')).toEqual({});
});

test.for<[what: string, act: (session: ReturnType<State['of']>) => void]>([
  ['read', (session) => void session.read('none' as never)],
  ['write', (session) => session.write({ none: 1 } as never)],
  ['write __proto__', (session) => session.write(JSON.parse('{"__proto__":1}') as never)],
  ['write nothing', (session) => session.write(undefined as never)],
  ['write a function', (session) => session.write({ city: (() => {}) as never })],
  ['reset', (session) => session.reset('none' as never)],
  ['reset to another kind', (session) => session.reset('notes', 'x' as never)],
])('an unknown key or an invalid value is rejected: %s', ([, act]) => {
  const state = keys();
  expect(() => act(state.of(setUp([], state)))).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }) as Error,
  );
});

test.each([['text'], [['a']], [7], [null]])(
  'mergeKey() refuses the update %j, which is not an object with fields',
  (update) => {
    const state = keys();
    const session = state.of(setUp([], state));
    session.write({ facts: { a: 1 } });
    expect(() => session.write({ facts: update as never, city: 'Rome' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message:
          'The state key "facts" cannot take an update: mergeKey() takes an object with fields.',
      }),
    );
    expect(session.all()).toMatchObject({ facts: { a: 1 } });
    expect(session.read('city')).toBeUndefined();
    const configuration = expect.objectContaining({ code: 'CONFIGURATION' });
    expect(() => mergeKey(update as never)).toThrow(configuration);
  },
);

test('stateKeys() rejects invalid keys, and of() rejects an agent without this state', async () => {
  const code = expect.objectContaining({ code: 'CONFIGURATION' }) as Error;
  expect(() => stateKeys({ a: {} as never })).toThrow(code);
  expect(() => stateKeys({ 'isoloop:x': replaceKey(1) })).toThrow(code);
  expect(() => stateKeys({ a: replaceKey(1) }, { inputKey: 'b' as never })).toThrow(code);
  const other = keys();
  const agent = setUp([notes('a'), 'Done.'], other, {
    use: [],
    tools: [noteTool(keys(), 1)],
  });
  let run = '';
  for await (const { runId } of agent.stream('go')) run = runId;
  expect(JSON.stringify(await agent.messages())).toContain('There is no state here');
  expect(() => other.of({ runId: run })).toThrow(code);
  expect(() => other.of({})).toThrow(code);
});

test('two agents with the same stateKeys() do not share values', async () => {
  const state = keys();
  const [one, two] = [setUp(['A.'], state), setUp(['B.'], state)];
  await Promise.all([one.call('a'), two.call('b')]);
  expect([state.of(one).read('answer'), state.of(two).read('answer')]).toEqual([['A.'], ['B.']]);
});
