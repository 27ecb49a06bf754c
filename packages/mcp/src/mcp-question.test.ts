import { expect, test, vi } from 'vitest';
import { newServer, type McpTestServer } from '@test/support/mcp-server.ts';
import {
  ReActAgent,
  type Decision,
  MemoryStore,
  SessionMemory,
  outputText,
  toolResultsOf,
  type ContentBlock,
  type JsonObject,
} from '@isoloop/core';
import { mcpTools } from './mcp-tools.ts';
import type { McpToolsOptions } from './mcp-options.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

/** Creates processes that use the server and share one stored conversation. */
function newSession(server: McpTestServer) {
  const store = new MemoryStore();
  return async (
    calls: readonly ScriptedReply[] = [],
    options: Partial<McpToolsOptions> = {},
  ): Promise<ReActAgent> =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel([...calls, 'done', 'done']),
      tools: await server.open({ reconnect: { attempts: 0 }, ...options }),
      memory: new SessionMemory(store, 's'),
    });
}

function call(name: string, id = 'c', input: JsonObject = {}): ScriptedReply {
  return { toolCalls: [{ name, id, input }] };
}

function answer(output: string | readonly ContentBlock[], toolUseId = 'c'): Decision {
  return { toolUseId, type: 'result', output };
}

async function outputsOf(agent: ReActAgent): Promise<readonly string[]> {
  return (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => outputText(output));
}

const size = { count: 2, size: 'M' };
test('a question suspends the tool call, and the answer continues it', async () => {
  const server = newServer('current');
  const agent = await newSession(server)([call('order')]);
  const asked = await agent.call('Order a shirt');
  expect(asked).toMatchObject({
    reason: 'suspended',
    pending: [
      {
        toolUseId: 'c',
        name: 'order',
        kind: 'suspended',
        reason: 'Which size?',
        details: {
          questions: {
            size: {
              mode: 'form',
              message: 'Which size?',
              requestedSchema: { properties: { size: { enum: ['S', 'M'] } } },
            },
          },
        },
      },
    ],
  });
  expect(await server.count('ordered')).toBe(0);
  expect(await agent.call([answer(JSON.stringify(size))])).toMatchObject({ reason: 'stop' });
  expect(await outputsOf(agent)).toEqual([`ordered ${JSON.stringify(size)}`]);
  expect(await server.count('ordered')).toBe(1);
  expect(await server.count('call')).toBe(2);
});

test.each(['mcp', 'resumable'] as const)(
  'an older server, whose question would end with this process, learns that it cannot ask: %s',
  async (kind) => {
    const server = newServer(kind);
    const agent = await newSession(server)([call('order')]);
    expect(await agent.call('Order a shirt')).toMatchObject({ reason: 'stop' });
    expect(await outputsOf(agent)).toEqual([expect.stringMatching(/^Error: .*elicitation/i)]);
    expect(await server.count('ordered')).toBe(0);
  },
);

test('a person answers a question from the log after a restart', async () => {
  const server = newServer('current');
  const process = newSession(server);
  const first = await process([call('order')]);
  const { pending } = await first.call('Go');
  const later = await process();
  expect((await later.call()).pending).toEqual(pending);
  const latest = await process();
  await latest.call([answer(JSON.stringify(size))]);
  expect(await outputsOf(latest)).toEqual([`ordered ${JSON.stringify(size)}`]);
  expect(await server.count('ordered')).toBe(1);
});

test('a tool call may ask several times, and progress goes on', async () => {
  const server = newServer('current');
  const process = newSession(server);
  await (await process([call('order_twice')])).call('Go');
  const chunks: unknown[] = [];
  const agent = await process();
  agent.addHook({ on: { 'acting-chunk': ({ chunk }) => void chunks.push(chunk) } });
  const second = await agent.call([answer(JSON.stringify(size))]);
  expect(second.pending).toMatchObject([{ toolUseId: 'c', reason: 'Your name?' }]);
  const later = await process();
  await later.call([answer('{"name":"Ann"}')]);
  expect(await outputsOf(later)).toEqual([`ordered ${JSON.stringify([size, { name: 'Ann' }])}`]);
  expect(chunks).toEqual([{ progress: 1, total: 2, message: 'one answer' }]);
});

test.each<[decision: object, output: string]>([
  [{ type: 'reject' }, 'decline'],
  [{ type: 'reject', reason: 'not now' }, 'decline'],
  [{ type: 'result', output: '', state: 'error' }, 'cancel'],
  [{ type: 'result', output: '', state: 'interrupted' }, 'cancel'],
  [{ type: 'result', output: '{"size":"S"}' }, 'ordered {"count":1,"size":"S"}'],
  [
    { type: 'result', output: [{ type: 'text', text: '{"size":"S","count":3}' }] },
    'ordered {"count":3,"size":"S"}',
  ],
])('the server gets the decision as its answer: %j', async (decision, output) => {
  const agent = await newSession(newServer('current'))([call('order')]);
  await agent.call('Go');
  await agent.call([{ toolUseId: 'c', ...decision } as Decision]);
  expect(await outputsOf(agent)).toEqual([output]);
});

test.each<[decision: object, problem: string]>([
  [{ type: 'approve' }, 'The answer does not fit'],
  [{ type: 'edit', input: { a: 1 } }, 'The tool call cannot be edited now'],
  [{ type: 'result', output: '{"size":"XL"}' }, 'The answer does not fit'],
  [{ type: 'result', output: '{"size":"S","count":0}' }, 'The answer does not fit'],
  [{ type: 'result', output: 'M' }, 'The answer must be an object'],
  [{ type: 'result', output: '[1]' }, 'The answer'],
])('asks again after a decision that does not answer: %j', async (decision, problem) => {
  const server = newServer('current');
  const agent = await newSession(server)([call('order')]);
  const { pending } = await agent.call('Go');
  const again = await agent.call([{ toolUseId: 'c', ...decision } as Decision]);
  expect(again.pending).toEqual([
    { ...pending[0], reason: expect.stringMatching(`^${problem}[^]*\nWhich size\\?$`) },
  ]);
  expect(await server.count('call')).toBe(1);
  await agent.call([answer(JSON.stringify(size))]);
  expect(await outputsOf(agent)).toEqual([`ordered ${JSON.stringify(size)}`]);
});

test('several questions at once are answered by their keys, and pages have an address', async () => {
  const server = newServer('current');
  const agent = await newSession(server)([call('sign_in')]);
  const { pending } = await agent.call('Go');
  expect(pending).toMatchObject([
    {
      reason: 'Sign in at https://example.com/sign-in\nYour name?',
      details: { questions: { page: { mode: 'url', url: 'https://example.com/sign-in' } } },
    },
  ]);
  const again = await agent.call([answer('Ann')]);
  expect(again.pending).toMatchObject([
    { reason: expect.stringContaining('must be an object with: page, name') },
  ]);
  await agent.call([answer('{"name":{"name":"Ann"}}')]);
  expect(await outputsOf(agent)).toEqual([
    '[{"action":"accept"},{"action":"accept","content":{"name":"Ann"}}]',
  ]);
});

test('an error that asks a person to visit a page suspends the call, which is then repeated', async () => {
  const server = newServer();
  const process = newSession(server);
  const { pending } = await (await process([call('visit')])).call('Go');
  expect(pending).toMatchObject([{ reason: 'Sign in at https://example.com/sign-in' }]);
  await server.ask('visited');
  const later = await process();
  await later.call([answer('')]);
  expect(await outputsOf(later)).toEqual(['welcome']);
});

test('a call is not repeated if the person does not visit the page', async () => {
  const server = newServer();
  const agent = await newSession(server)([call('visit')]);
  await agent.call('Go');
  await agent.call([{ toolUseId: 'c', type: 'reject' }]);
  expect(await outputsOf(agent)).toEqual(['Error: The user declined what the server asks for.']);
  expect(await server.count('call')).toBe(1);
});

test('questions of simultaneous tool calls go to their own calls', async () => {
  const agent = await newSession(newServer('current'))([
    {
      toolCalls: [
        { name: 'order', id: 'one' },
        { name: 'order_twice', id: 'two' },
        { name: 'add', id: 'three', input: { a: 1, b: 2 } },
        { name: 'order', id: 'four' },
      ],
    },
  ]);
  const { pending } = await agent.call('Go');
  expect(pending.map(({ toolUseId }) => toolUseId).toSorted()).toEqual(['four', 'one', 'two']);
  const next = await agent.call([
    answer('{"size":"M","count":4}', 'four'),
    answer('{"size":"M","count":1}', 'one'),
    answer('{"size":"M","count":2}', 'two'),
  ]);
  expect(next.pending).toMatchObject([{ toolUseId: 'two', reason: 'Your name?' }]);
  await agent.call([answer('Ann', 'two')]);
  expect(await outputsOf(agent)).toEqual([
    'ordered {"count":1,"size":"M"}',
    'ordered [{"count":2,"size":"M"},{"name":"Ann"}]',
    '3',
    'ordered {"count":4,"size":"M"}',
  ]);
});

test('a server that only asks to be called later is called again', async () => {
  const server = newServer('current');
  const agent = await newSession(server)([call('busy')]);
  await agent.call('Go');
  expect(await outputsOf(agent)).toEqual(['now']);
  expect(await server.count('call')).toBe(2);
});

test('a request for a model is an error, because this client offers none', async () => {
  const agent = await newSession(newServer('current'))([call('ask_for_model')]);
  await agent.call('Go');
  expect(await outputsOf(agent)).toEqual([expect.stringMatching(/^Error: .*sampling/)]);
});

test('with `elicitation: false`, the server learns that nobody answers questions', async () => {
  for (const kind of ['mcp', 'current'] as const) {
    const agent = await newSession(newServer(kind))([call('order')], { elicitation: false });
    expect(await agent.call('Go')).toMatchObject({ reason: 'stop' });
    expect(await outputsOf(agent)).toEqual([expect.stringMatching(/^Error: .*elicitation/i)]);
  }
});

test('a call can need an approval first and ask later', async () => {
  const server = newServer('current');
  const process = newSession(server);
  const agent = await process([call('order')], { needsApproval: true });
  expect((await agent.call('Go')).pending).toMatchObject([{ kind: 'approval' }]);
  const approved = await agent.call([{ toolUseId: 'c', type: 'approve' }]);
  expect(approved.pending).toMatchObject([{ kind: 'suspended', reason: 'Which size?' }]);
  const later = await process([], { needsApproval: true });
  await later.call([answer(JSON.stringify(size))]);
  expect(await outputsOf(later)).toEqual([`ordered ${JSON.stringify(size)}`]);
});

test('changed tools of a server of the current revision reach the agent', async () => {
  const server = newServer('current');
  const onToolsChanged = vi.fn();
  const tools = await server.open({ onToolsChanged });
  await server.ask('add/later_added');
  await expect.poll(() => tools.find('later_added')).toBeDefined();
  expect(onToolsChanged).toHaveBeenCalledOnce();
});

test('a worker falls back to an older revision if the server’s CORS rules refuse the new headers', async () => {
  // Other test files share this global, and `@cfworker/json-schema` reads its origin at import.
  if (!('location' in globalThis)) vi.stubGlobal('location', { origin: 'null' });
  const server = newServer();
  const strict = (async (url: string, init: RequestInit) => {
    if (new Headers(init.headers).has('mcp-method')) throw new TypeError('Failed to fetch');
    return fetch(url, init);
  }) as typeof fetch;
  const tools = await mcpTools({ url: server.url, fetch: strict });
  expect(tools.list().length).toBeGreaterThan(8);
  await tools.close();
});
