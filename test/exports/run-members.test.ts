import { readFileSync } from 'node:fs';
import {
  AgentError,
  tool,
  type EarlyRun,
  type Hooks,
  type Middleware,
  type Run,
  type RunView,
  type ToolUse,
} from '@isoloop/core';
import { Agent } from '@isoloop/core/agent';
import { deniedResult } from '@isoloop/core/tool';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, expectTypeOf, test } from 'vitest';

type Use<R> = (run: R) => unknown;

/** Names of the members of a run, such as `now` and `log.edit`. */
type MembersOf<R> = {
  [K in keyof R & string]: K extends GroupName ? `${K}.${keyof R[K] & string}` : K;
}[keyof R & string];

type GroupName =
  | Exclude<keyof Run, keyof RunView>
  | 'prompt'
  | 'tools'
  | 'model'
  | 'calls'
  | 'ending';

type WrapperName = Exclude<keyof Middleware & `wrap${string}`, 'wrapModel'>;
type RunOf<K extends WrapperName> = Parameters<NonNullable<Middleware[K]>>[2];

/** Where code may use a member of `run`. */
const places = ['early', 'wrapper', 'hook', 'tool', 'mapEvent', 'end'] as const;
type Place = (typeof places)[number];

/** What the uses of a member end with, by the words of the table. `undefined`: no error. */
const codes: Readonly<Record<string, Partial<Record<Place, string>>>> = {
  '`RunView`': {},
  '`EarlyRun`': { mapEvent: 'CONFIGURATION', end: 'ABORTED' },
  '`EarlyRun`. No effect after the end': { mapEvent: 'CONFIGURATION' },
  '`Run`': { early: 'CONFIGURATION', mapEvent: 'CONFIGURATION', end: 'ABORTED' },
};

const toolUse: ToolUse = { type: 'tool_use', id: 'none', name: 'none', input: {} };
const denied = deniedResult(toolUse, 'No.');
const change = { removed: 0, before: 1, after: 1 };

/** How the functions of `RunView` are called. All its other members are only read. */
const viewCalls = {
  now: (run) => run.now(),
  monotonicNow: (run) => run.monotonicNow(),
  createMessage: (run) => run.createMessage('user', 'Hi'),
} satisfies Partial<Record<MembersOf<RunView>, Use<RunView>>>;

/** How what `EarlyRun` adds is called. The compiler says whether a member is missing. */
const earlyCalls: Record<Exclude<MembersOf<EarlyRun>, MembersOf<RunView>>, Use<EarlyRun>> = {
  'log.load': (run) => run.log.load(),
  'log.store': (run) => run.log.store(),
  'prompt.set': (run) => run.prompt.set('Be kind.'),
  'prompt.append': (run) => run.prompt.append('Be brief.'),
  'prompt.include': (run) => run.prompt.include([]),
  'tools.add': (run) => run.tools.add([]),
  'tools.set': (run) => run.tools.set(run.tools.current),
  'model.stream': ({ model, signal }) => void model.stream({ messages: [], tools: [] }, { signal }),
  'model.ask': (run) => run.model.ask({ messages: [run.createMessage('user', 'So?')], tools: [] }),
  'model.addUsage': (run) => run.model.addUsage({ inputTokens: 1, outputTokens: 1 }),
  'events.emit': (run) => run.events.emit('context-fitted', change),
  'ending.fail': (run) => run.ending.fail(new Error('down')),
  'ending.interrupt': (run) => run.ending.interrupt(),
  'ending.suspend': (run) => run.ending.suspend(),
  'ending.before': (run) => run.ending.before(async () => {}),
  'ending.addToResult': (run) => run.ending.addToResult({}),
  'wait.for': (run) => run.wait.for(1),
  'wait.untimed': (run) => run.wait.untimed(async () => 1),
  'inbox.handle': (run) => run.inbox.handle({}),
  'inbox.admit': (run) => run.inbox.admit({ messages: [], decisions: [] }),
};

/** How what `Run` adds is called. */
const lateCalls: Record<Exclude<MembersOf<Run>, MembersOf<EarlyRun>>, Use<Run>> = {
  'log.edit': (run) => run.log.edit({ append: [run.createMessage('user', 'More.')] }),
  'prompt.includeLast': (run) => run.prompt.includeLast([]),
  'calls.close': (run) => run.calls.close(toolUse, denied),
  'calls.note': (run) => run.calls.note([]),
  'events.revise': (run) =>
    run.events.revise('post-summary', { message: run.createMessage('assistant', 'So.') }),
  'ending.whenStopped': (run) => {
    run.ending.interrupt();
    return run.ending.whenStopped();
  },
  'ending.reply': (run) => run.ending.reply(run.createMessage('assistant', 'Mine.'), 'stop'),
};

const calls: Readonly<Record<string, Use<Run>>> = { ...viewCalls, ...earlyCalls, ...lateCalls };

/** Returns the code of the error with which a use of the member at a place ends. */
async function codeAt(place: Place, attemptUse: Use<Run>): Promise<string | undefined> {
  const outcome: { code?: string | undefined; isUsed: boolean } = { isUsed: false };
  let run!: Run;
  const fails = (thrown: unknown): void => {
    outcome.code = AgentError.is(thrown) ? thrown.code : String(thrown);
  };
  const attempt = (current: Place): Promise<unknown> | undefined => {
    if (current !== place || outcome.isUsed) return undefined;
    outcome.isUsed = true;
    try {
      return Promise.resolve(attemptUse(run)).catch(fails);
    } catch (thrown) {
      fails(thrown);
      return undefined;
    }
  };
  const using: Middleware = {
    async wrapRun(input, next, given) {
      // Code without types may use all members everywhere.
      run = given as Run;
      await attempt('early');
      return next(input);
    },
    async wrapRequest(draft, next) {
      await attempt('wrapper');
      return next(draft);
    },
    on: { 'pre-reasoning': async () => void (await attempt('hook')) },
    mapEvent(event, given) {
      if (event.type !== 'pre-reasoning' || place !== 'mapEvent') return;
      run = given as Run;
      void attempt('mapEvent');
    },
  };
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object', properties: {} },
    execute: async () => void (await attempt('tool')),
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Well.', 'Well.']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [using] });
  await agent.call('Hi', { throwOnError: false });
  await attempt('end');
  expect(outcome.isUsed).toBe(true);
  return outcome.code;
}

const page = readFileSync(`${import.meta.dirname}/../../docs/middleware.md`, 'utf8');
const section = page.split('\n## The run\n')[1]!.split('\n## ')[0]!;
const rows = [...section.matchAll(/^\| (`[^|]+?) +\|[^|]+\| ([^|]+?) +\|$/gm)].flatMap(
  ([, cell = '', where = '']): [string, string][] =>
    [...cell.matchAll(/`([\w.]+)/g)].map(([, name = '']) => [name, where]),
);

/** Returns the names in the table with a type. */
const namesOf = (type: string): readonly string[] =>
  rows.filter(([, where]) => where.startsWith(`\`${type}\``)).map(([name]) => name);

test('the table of the page has the members of each type', () => {
  expect(namesOf('RunView')).toEqual(expect.arrayContaining(Object.keys(viewCalls)));
  expect(namesOf('EarlyRun').toSorted()).toEqual(Object.keys(earlyCalls).toSorted());
  expect(namesOf('Run').toSorted()).toEqual(Object.keys(lateCalls).toSorted());
});

test('the compiler says what a wrapper, a hook or `mapEvent` may use of the run', () => {
  expectTypeOf<RunOf<'wrapRun'>>().toEqualTypeOf<EarlyRun>();
  expectTypeOf<RunOf<'wrapInput'>>().toEqualTypeOf<EarlyRun>();
  expectTypeOf<RunOf<Exclude<WrapperName, 'wrapRun' | 'wrapInput'>>>().toEqualTypeOf<Run>();
  expectTypeOf<Parameters<NonNullable<Middleware['mapEvent']>>[1]>().toEqualTypeOf<RunView>();
  const on: Hooks = {
    'run-start': (_event, run) => void expectTypeOf(run).toEqualTypeOf<EarlyRun>(),
    '*': (_event, run) => void expectTypeOf(run).toEqualTypeOf<EarlyRun>(),
    'pre-call': (_event, run) => void expectTypeOf(run).toEqualTypeOf<Run>(),
    suspended: (_event, run) => void expectTypeOf(run).toEqualTypeOf<Run>(),
    error: (_event, run) => void expectTypeOf(run).toEqualTypeOf<RunView>(),
    'run-end': (_event, run) => void expectTypeOf(run).toEqualTypeOf<RunView>(),
  };
  expect(on).toBeDefined();
});

test.each(rows)('run.%s works as the page says: %s', async (name, where) => {
  const read: Use<Run> = (run) =>
    name.split('.').reduce<unknown>((at, key) => (at as never)[key], run);
  const found: Partial<Record<Place, string | undefined>> = {};
  for (const place of places) {
    const code = await codeAt(place, calls[name] ?? read);
    if (code !== undefined) found[place] = code;
  }
  expect(found).toEqual(codes[where]);
});
