import { expect, test } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { toolResultsOf, type ToolResult } from '../../message/msg.ts';
import type { JsonValue } from '../../message/json.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import type { Middleware } from '../middleware.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';

/** Runs a tool with the given `execute` and another tool that works, in a stored conversation. */
async function outcomeOf(execute: (emit: (progress: JsonValue) => void) => unknown) {
  const input = { type: 'object' } as const;
  const odd = tool({
    name: 'odd',
    description: '',
    input,
    execute: (_input, { emit }) => execute(emit) as object,
  });
  const fine = tool({ name: 'fine', description: '', input, execute: () => 'fine' });
  const toolCalls = [{ name: 'odd' }, { name: 'fine' }];
  const { agent } = scriptedAgent([{ toolCalls }, 'Done.'], {
    memory: new SessionMemory(new MemoryStore(), 's'),
    tools: [odd, fine],
  });
  const progress: unknown[] = [];
  agent.addHook({ on: { 'acting-chunk': ({ chunk }) => void progress.push(chunk) } });
  const end = await agent.call('go');
  expect(end.text).toBe('Done.');
  const [result, other] = (await agent.messages()).flatMap(toolResultsOf);
  expect(other).toMatchObject({ state: 'success', output: 'fine' });
  return { result: [result!.state, result!.output], progress };
}

class Account {
  readonly #secret = 1;
  get secret(): number {
    return this.#secret;
  }
}
class Shop {
  readonly name = 'Bakery';
  open(): boolean {
    return true;
  }
}
class NotFound extends Error {
  override readonly name = 'NotFound';
  readonly status = 404;
}
const nothing = Object.create(null) as Record<string, unknown>;
const holes: unknown[] = [1];
holes[2] = 2;
holes.length = 4;
const shared = { n: 1 };

const withForm: readonly (readonly [what: string, value: unknown, json: unknown])[] = [
  ['a map of texts', new Map([['bread', 2]]), { bread: 2 }],
  ['a map of numbers', new Map([[1, 'one']]), { 1: 'one' }],
  ['an empty map', new Map(), {}],
  ['a set', new Set(['a', 'b']), ['a', 'b']],
  ['a map of sets in an object', { all: new Map([['x', new Set([1])]]) }, { all: { x: [1] } }],
  ['bytes', new Uint8Array([1, 2]), [1, 2]],
  ['fractions', new Float64Array([0.5]), [0.5]],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['an invalid date', { at: new Date(Number.NaN) }, { at: null }],
  ['a function in a list', [() => {}], [null]],
  ['numbers without a JSON form', { a: Number.NaN, b: -Infinity }, { a: 'NaN', b: '-Infinity' }],
  ['an array with holes', holes, [1, null, 2, null]],
  ['a field that is undefined', { a: 1, b: undefined }, { a: 1 }],
  ['fields that are all undefined', { a: undefined }, {}],
  ['an instance with fields', new Shop(), { name: 'Bakery' }],
  ['functions beside fields', { id: 1, save: () => {} }, { id: 1 }],
  ['an object without prototype', Object.assign(nothing, { a: 1 }), { a: 1 }],
  ['an object with a toJSON() method', { toJSON: () => ({ a: new Set([1]) }) }, { a: [1] }],
  ['one object at two places', { a: shared, b: shared }, { a: { n: 1 }, b: { n: 1 } }],
  [
    'errors among values',
    [{ error: new NotFound('no file', { cause: new Error('disk') }) }],
    [
      {
        error: {
          name: 'NotFound',
          message: 'no file',
          status: 404,
          cause: { name: 'Error', message: 'disk' },
        },
      },
    ],
  ],
  ['an address', new URL('https://example.com/a'), 'https://example.com/a'],
  ['an empty object', {}, {}],
  ['nothing', null, null],
  ['a list of content blocks', [{ type: 'text', text: 'x' }], [{ type: 'text', text: 'x' }]],
];

test.for(withForm)(
  'a tool’s result and progress are converted to JSON: %s',
  async ([, value, json]) => {
    const { result, progress } = await outcomeOf((emit) => {
      emit(value as JsonValue);
      return value;
    });
    expect(result[0]).toBe('success');
    expect(JSON.parse(result[1] as string)).toEqual(json);
    expect(progress).toEqual([json]);
  },
);

const cycle: Record<string, unknown> = { name: 'x' };
cycle['list'] = [cycle];
const mapCycle = new Map<string, unknown>();
mapCycle.set('self', mapCycle);
const { proxy: revoked, revoke } = Proxy.revocable({ a: 1 }, {});
revoke();
const boom = (): never => {
  throw new Error('boom');
};
let deep: unknown = 1;
for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];

const withoutForm: readonly (readonly [what: string, value: () => unknown, words: string])[] = [
  ['a function', () => () => {}, 'it is a function'],
  ['a symbol', () => Symbol('x'), 'it is a symbol'],
  ['a bigint', () => ({ n: [1n] }), 'BigInt'],
  ['a cycle', () => cycle, 'circular'],
  ['a map that contains itself', () => mapCycle, 'call stack'],
  ['an instance without fields', () => new Account(), 'Account'],
  [
    'an instance without fields inside',
    () => ({ of: { a: new Account() } }),
    'the object "a" (Account) has no fields',
  ],
  ['a promise inside', () => ({ a: Promise.resolve(1) }), 'the object "a" (Promise) has no fields'],
  ['a response', () => new Response('x'), 'Response'],
  ['a blob inside', () => [new Blob(['x'])], '(Blob) has no fields'],
  ['a buffer', () => new ArrayBuffer(2), 'ArrayBuffer'],
  ['headers', () => new Headers({ a: 'b' }), 'Headers'],
  ['a generator', () => ({ all: (function* () {})() }), 'the object "all"'],
  ['a weak map', () => new WeakMap(), 'WeakMap'],
  ['an expression', () => ({ a: /x/ }), 'RegExp'],
  [
    'a getter that throws',
    () => ({
      get a() {
        return boom();
      },
    }),
    'boom',
  ],
  [
    'a nested getter that throws',
    () => ({
      b: [
        {
          get a() {
            return boom();
          },
        },
      ],
    }),
    'boom',
  ],
  ['a proxy that throws', () => ({ a: new Proxy({ x: 1 }, { ownKeys: boom }) }), 'boom'],
  ['a revoked proxy inside', () => ({ revoked }), 'revoked'],
  ['a toJSON that throws', () => ({ toJSON: boom }), 'boom'],
  [
    'a getter that throws a value other than an error',
    () => ({
      get a() {
        throw Object.create(null);
      },
    }),
    'has no JSON form',
  ],
  [
    'a getter that throws a suspension',
    () => ({
      get a() {
        throw { suspended: true };
      },
    }),
    'has no JSON form',
  ],
  [
    'a getter that throws a fatal error',
    () => ({
      get a() {
        throw new AgentError('TOOL_ERROR', 'fatal');
      },
    }),
    'fatal',
  ],
  ['a value that is nested without end', () => deep, 'call stack'],
  [
    'a block without its media type',
    () => ({ content: [{ type: 'image', source: { type: 'base64', data: 'AA==' } }] }),
    'content[0]',
  ],
  [
    'a block with an invalid name',
    () => ({
      content: [
        { type: 'text', text: 'x' },
        { type: 'file', name: 1, source: { type: 'url', url: 'x' } },
      ],
    }),
    'content[1]',
  ],
];

test.for(withoutForm)(
  '%s as a tool’s result is an error that names the value and says what to return',
  async ([, value, words]) => {
    const { result } = await outcomeOf(value);
    expect(result).toEqual(['error', expect.stringContaining(words)]);
    expect(result[1]).toMatch(/^Error: The result of "odd" .+ (Use|Return) .+\.$/s);
    expect(result[1]).not.toContain('TypeError');
  },
);

test.for(withoutForm.slice(0, -2))(
  '%s as a tool’s progress is also an error result',
  async ([, value, words]) => {
    const { result, progress } = await outcomeOf((emit) => emit(value() as JsonValue));
    expect(result).toEqual(['error', expect.stringContaining(words)]);
    expect(result[1]).toMatch(/^Error: The progress of "odd" /);
    expect(progress).toEqual([]);
  },
);

test.for<readonly [what: string, value: () => unknown, words: string]>([
  ['an error', () => new Error('not found'), 'Error: not found'],
  ['an error without a message', () => new NotFound(), 'Error: NotFound'],
  ['an AgentError', () => new AgentError('TOOL_ERROR', 'gone'), 'Error: gone'],
  [
    'an error with a cause',
    () => new TypeError('fetch failed', { cause: new Error('dns') }),
    'Error: fetch failed',
  ],
  ['an error in a promise', () => Promise.resolve(new Error('late')), 'Error: late'],
])('%s that a tool returns is an error result', async ([, value, words]) => {
  expect((await outcomeOf(value)).result).toEqual(['error', words]);
});

test.for<readonly [what: string, thrown: () => unknown]>([
  ['an object without prototype', () => Object.create(null)],
  ['a revoked proxy', () => revoked],
  ['an object whose fields throw', () => new Proxy({}, { get: boom })],
  [
    'an error whose message throws',
    () => Object.defineProperty(new Error('x'), 'message', { get: boom }),
  ],
  ['a symbol', () => Symbol('x')],
  ['nothing', () => undefined],
])('%s that a tool throws is an error result', async ([, thrown]) => {
  const { result } = await outcomeOf(() => {
    throw thrown();
  });
  expect(result).toEqual(['error', expect.stringMatching(/^Error: ./)]);
});

test('an empty result stays empty, and a text and media reach the model unchanged', async () => {
  expect((await outcomeOf(() => undefined)).result).toEqual(['success', '']);
  expect((await outcomeOf(() => 'NaN')).result).toEqual(['success', 'NaN']);
  const long = 'x'.repeat(1_000_000);
  expect((await outcomeOf(() => long)).result).toEqual(['success', long]);
  const content = [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }];
  expect((await outcomeOf(() => ({ content }))).result).toEqual(['success', content]);
});

test('a change of the returned object after the tool call does not change the stored result', async () => {
  const content = [{ type: 'text', text: 'before' }];
  const { result } = await outcomeOf(() => ({ content }));
  content[0]!.text = 'after';
  expect(result[1]).toEqual([{ type: 'text', text: 'before' }]);
});

const unreadable: readonly (readonly [what: string, change: (result: ToolResult) => unknown])[] = [
  ['a revoked proxy as its output', (result) => ({ ...result, output: revoked })],
  ['a block that throws', (result) => ({ ...result, output: [throwing('text')] })],
  ['a field of a block that throws', (result) => ({ ...result, output: [throwing('name')] })],
  ['a field that throws', (result) => Object.defineProperties({ ...result }, throwingField)],
  ['a cycle', (result) => ({ ...result, output: [{ type: 'text', text: 'x', metadata: cycle }] })],
  ['an output that is not a text', (result) => ({ ...result, output: { a: 1 } })],
  ['another kind of block', () => ({ type: 'text', text: 'x' })],
  ['an empty value', () => null],
];
const throwingField = { more: { enumerable: true, get: boom } };

function throwing(field: string): object {
  const block = { type: 'text', text: 'x' };
  return Object.defineProperty(block, field, { enumerable: true, get: boom });
}

function agentWith(middleware: Middleware): ReActAgent {
  const execute = (): string => 'fine';
  const names = ['one', 'two'];
  return new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ toolCalls: names.map((name) => ({ name })) }, 'Done.']),
    memory: new SessionMemory(new MemoryStore(), 's'),
    tools: names.map((name) => tool({ name, description: '', input: { type: 'object' }, execute })),
    use: [middleware],
  });
}

test.for(unreadable)(
  'a wrapTool result with %s is an error result of its tool call only',
  async ([, change]) => {
    const agent = agentWith({
      wrapTool: async (call, next) => {
        const result = await next(call);
        return (call.tool.name === 'one' ? change(result as ToolResult) : result) as ToolResult;
      },
    });
    expect((await agent.call('go')).text).toBe('Done.');
    const [result, other] = (await agent.messages()).flatMap(toolResultsOf);
    expect(result).toMatchObject({
      name: 'one',
      state: 'error',
      output: expect.stringMatching(/^Error: The result of wrapTool\(\) of "unnamed" for "one" /),
    });
    expect(other).toMatchObject({ state: 'success', output: 'fine' });
  },
);

test.for(unreadable)(
  'a post-acting result with %s fails with an error that names the event',
  async ([, change]) => {
    const agent = agentWith({
      on: {
        'post-acting': (event) => ({ ...event, result: change(event.result) as ToolResult }),
      },
    });
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'HOOK_ERROR',
      message: expect.stringContaining('post-acting'),
      details: { event: 'post-acting', field: 'result' },
    });
  },
);

test('a hook message that throws when it is read fails with an error that names the event', async () => {
  const agent = agentWith({
    on: {
      'post-reasoning': (event) => ({
        ...event,
        message: Object.defineProperty({ ...event.message }, 'content', { get: boom }),
      }),
    },
  });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { event: 'post-reasoning', field: 'message' },
  });
});
