/// <reference path="../../../test/mcp-server/provided-context.d.ts" />
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import {
  ReActAgent,
  AgentError,
  type AgentEvent,
  toolResultsOf,
  type ToolResult,
  type JsonObject,
  tool,
  type Tool,
} from '@isoloop/core';
import { approvals } from '@isoloop/core/approval';
import { mcpTools, type McpTools } from './mcp-tools.ts';
import { jsonSchema } from '@isoloop/core/schema';
import { ScriptedModel } from '@isoloop/core/testing';
import { joinTools, Toolkit } from '@isoloop/core/tool';
import { newServer } from '@test/support/mcp-server.ts';

/** Returns the results that the model gets for parallel tool calls of a new agent. */
async function resultsOf(
  tools: McpTools,
  toolCalls: readonly { name: string; input?: JsonObject }[],
): Promise<readonly ToolResult[]> {
  const { agent } = scriptedAgent([{ toolCalls }, 'done'], { tools });
  await agent.call('Do it');
  return (await agent.messages()).flatMap(toolResultsOf);
}

async function resultOf(
  tools: McpTools,
  name: string,
  input: JsonObject = {},
): Promise<ToolResult> {
  return (await resultsOf(tools, [{ name, input }]))[0]!;
}

/** Returns a promise and its resolve function. */
function deferred<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

test('approval rules know the tools of a server, even after its connection was closed', async () => {
  const tools = await newServer().open({ prefix: 'calc_' });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'calc_add', input: { a: 1, b: 2 } }] }], {
    tools: joinTools([], tools),
    use: [approvals({ needsApproval: { calc_echo: true, 'calc_a*': true } })],
  });
  expect((await agent.call('Add')).pending).toMatchObject([{ name: 'calc_add' }]);
  await tools.close();
  expect((await agent.call()).reason).toBe('suspended');
});

test('a server gets no half surrogate pair, which strict JSON parsers refuse', async () => {
  const tools = await newServer().open();
  const { output } = await resultOf(tools, 'echo', { text: 'a\ud83c' });
  expect(JSON.stringify(output)).toContain('a\ufffd');
});

test('all pages of a server’s tools become tools of the agent', async () => {
  const tools = await newServer().open();
  const names = tools.schemas().map(({ name }) => name);
  expect(names.length).toBeGreaterThan(8);
  expect(names).toContain('add');
  expect(tools).toMatchObject({ name: 'test', connected: true, instructions: 'Add first.' });
  expect(tools.schemas().find(({ name }) => name === 'add')).toEqual({
    name: 'add',
    description: 'Does add.',
    parameters: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    strict: undefined,
  });
  expect(await resultOf(tools, 'add', { a: 2, b: 40 })).toMatchObject({
    name: 'add',
    output: '42',
    state: 'success',
  });
  expect(tools.fork()).toBe(tools);
  expect(tools.schemas()).toBe(tools.schemas());
});

test('tool names that providers reject are replaced, and the server gets the original names', async () => {
  const tools = await newServer().open({
    include: ['odd.name/with spaces', 'add'],
    prefix: 'srv-',
  });
  expect(tools.list().map(({ name }) => name)).toEqual(['srv-add', 'srv-odd_name_with_spaces']);
  expect(await resultOf(tools, 'srv-odd_name_with_spaces')).toMatchObject({ output: 'odd' });
});

test('tool names that would become equal after replacement stay different', async () => {
  const server = newServer();
  for (const name of ['21st_magic', 'a.b', 'a_b', 'a b', 'x'.repeat(70), 'x'.repeat(71)])
    await server.ask(`add/${encodeURIComponent(name)}`);
  const tools = await server.open();
  const names = tools.list().map(({ name }) => name);
  expect(names.slice(-6)).toEqual([
    // Kimi and Gemini want a letter at the start.
    'tool_21st_magic',
    'a_b',
    'a_b_2',
    'a_b_3',
    'x'.repeat(64),
    `${'x'.repeat(62)}_2`,
  ]);
  expect(await resultOf(tools, 'a_b_3')).toMatchObject({ output: expect.stringContaining('a') });
});

test('`include` and `exclude` select tools', async () => {
  const server = newServer();
  const chosen = await server.open({ include: ['add', 'echo', 'gone'], exclude: ['echo'] });
  expect(chosen.list().map(({ name }) => name)).toEqual(['add']);
  expect(await resultOf(chosen, 'echo')).toMatchObject({
    state: 'error',
    output: 'Error: Tool not found: echo. Available: add.',
  });
});

test('the model gets texts, images, audio, documents and links from tool results', async () => {
  const tools = await newServer().open();
  expect((await resultOf(tools, 'picture')).output).toEqual([
    { type: 'text', text: 'A pixel:' },
    {
      type: 'image',
      source: { type: 'base64', mediaType: 'image/png', data: expect.stringMatching(/^iVBOR/) },
    },
    { type: 'audio', source: { type: 'base64', mediaType: 'audio/wav', data: 'AAAA' } },
  ]);
  expect((await resultOf(tools, 'documents')).output).toEqual([
    { type: 'text', text: 'Buy milk.' },
    {
      type: 'file',
      source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERg==' },
      name: 'file:///a.pdf',
    },
    { type: 'text', text: 'long.txt: https://example.com/long.txt (text/plain, The whole text)' },
  ]);
  expect(await resultOf(tools, 'structured')).toMatchObject({
    output: '{"temperature":21}',
    state: 'success',
  });
  expect(await resultOf(tools, 'nothing')).toMatchObject({ output: '', state: 'success' });
  expect(await resultOf(tools, 'pair', { text: 'said' })).toMatchObject({ output: 'said' });
  expect(await resultOf(tools, 'pair', { text: '' })).toMatchObject({ output: '{"said":""}' });
  expect(await resultOf(tools, 'rubbish')).toMatchObject({
    state: 'error',
    output: expect.stringContaining('Invalid tools/call result'),
  });
});

test('a long text is shortened and marked, never inside a character', async () => {
  const tools = await newServer().open({ maxOutputChars: 9 });
  expect((await resultOf(tools, 'long', { count: 9 })).output).toBe('xxxxxxxxx');
  expect((await resultOf(tools, 'long', { count: 10 })).output).toBe(
    'xxxxxxxxx\n[shortened: 9 of 10 characters]',
  );
  expect((await resultOf(tools, 'long', { character: '😀', count: 10 })).output).toBe(
    '😀😀😀😀\n[shortened: 9 of 20 characters]',
  );
  const usual = await newServer().open();
  expect((await resultOf(usual, 'long', { count: 60_000 })).output).toBe(
    `${'x'.repeat(50_000)}\n[shortened: 50000 of 60000 characters]`,
  );
});

test('an error that a tool returns, and a rejection by the server, are error results', async () => {
  const tools = await newServer().open();
  expect(await resultOf(tools, 'fail', { why: 'no stock' })).toMatchObject({
    output: 'Error: no stock',
    state: 'error',
  });
  expect(await resultOf(tools, 'fail', { why: 'Error: no stock' })).toMatchObject({
    output: 'Error: no stock',
  });
  expect(await resultOf(tools, 'fail_silently')).toMatchObject({
    output: 'Error: The tool failed and did not say why.',
    state: 'error',
  });
  const [gone] = (await newServer().open()).list();
  expect(gone).toMatchObject({ server: 'test' });
  expect(await resultOf(tools, 'add', 7 as never)).toMatchObject({
    state: 'error',
    output: expect.stringContaining('they are not an object'),
  });
});

test('`schema` checks arguments before they are sent; for a tool whose schema it rejects, nothing is checked', async () => {
  const errors: AgentError[] = [];
  const server = newServer();
  const schema = vi.fn((given: JsonObject) => {
    if (!given['required']) throw new AgentError('CONFIGURATION', 'refused');
    return jsonSchema(given);
  });
  const tools = await server.open({
    include: ['add', 'echo'],
    schema,
    onError: (error) => errors.push(error),
  });
  expect(await resultOf(tools, 'add', { a: 'x' })).toMatchObject({
    state: 'error',
    output:
      'Error: The arguments of "add" do not fit its schema:\n- b: is required\n- a: must be number, is string\nCorrect them.',
  });
  expect(await server.count('call')).toBe(0);
  expect(await resultOf(tools, 'echo', { x: 1 })).toMatchObject({ output: '{"x":1}' });
  expect(errors).toMatchObject([
    { code: 'MCP_BAD_RESPONSE', message: expect.stringContaining('"echo"') },
  ]);
});

test.each([[undefined], [7], [{}]])(
  'if `schema` returns %j, arguments are not checked, but the tool works',
  async (given) => {
    const errors: AgentError[] = [];
    const tools = await newServer().open({
      include: ['add'],
      schema: () => given as never,
      onError: (error) => errors.push(error),
    });
    expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({ output: '3' });
    expect(errors).toMatchObject([
      { code: 'MCP_BAD_RESPONSE', message: expect.stringContaining('"add"') },
    ]);
  },
);

test('progress of a tool reaches hooks and readers', async () => {
  const tools = await newServer().open();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'progress' }] }, 'done']);
  const chunks: unknown[] = [];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    use: [{ on: { 'acting-chunk': ({ chunk }) => void chunks.push(chunk) } }],
  });
  await agent.call('Go');
  expect(chunks).toEqual([
    { progress: 1, total: 2, message: 'half' },
    { progress: 2, total: 2, message: 'all' },
  ]);
});

test.for([
  ['cancels the tool call at the server', undefined, 'await/cancelled'],
  ['ends the HTTP request if the server answers without a stream', 'stateless', 'await/dropped'],
] as const)('an abort %s', async ([, kind, sign]) => {
  const server = newServer(kind);
  const tools = await server.open();
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'slow' }] }], { tools });
  const controller = new AbortController();
  const call = agent.call('Go', { signal: controller.signal });
  await server.ask('await/started');
  controller.abort();
  expect(await call).toMatchObject({ reason: 'aborted' });
  await server.ask(sign);
});

test('canceled tool calls leave no connection open, because a browser has only six per server', async () => {
  const server = newServer();
  const tools = await server.open();
  for (let call = 1; call <= 8; call += 1) {
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'slow' }] }], { tools });
    const controller = new AbortController();
    const result = agent.call('Go', { signal: controller.signal });
    await server.ask(`await/started:${call}`);
    controller.abort();
    await result;
  }
  await server.ask('await/cancelled:8');
  await tools.refresh();
  expect(tools.connected).toBe(true);
});

test('a tool call that exceeds `timeoutMs` is an error result', async () => {
  const tools = await newServer().open({ timeoutMs: 1 });
  expect(await resultOf(tools, 'slow')).toMatchObject({
    state: 'error',
    output: 'Error: Tool "slow" timed out after 1 ms',
  });
});

test('after the server adds a tool, the agent’s next request contains the tool', async () => {
  const server = newServer();
  const changed = deferred<readonly Tool[]>();
  const tools = await server.open({ onToolsChanged: changed.resolve });
  const before = tools.schemas();
  const { agent, model } = scriptedAgent(
    [
      { toolCalls: [{ name: 'add', input: { a: 1, b: 1 } }] },
      { toolCalls: [{ name: 'later' }] },
      'done',
    ],
    {
      tools,
      use: [
        {
          on: {
            'post-acting': async ({ toolUse }) => {
              if (toolUse.name !== 'add') return;
              await server.ask('await/stream');
              await server.ask('add/later');
              await changed.promise;
            },
          },
        },
      ],
    },
  );
  await agent.call('Go');
  expect(
    model.requests.map(({ tools: shown }) => shown.some(({ name }) => name === 'later')),
  ).toEqual([false, true, true]);
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    '2',
    'ran later',
  ]);
  expect(tools.schemas()).not.toBe(before);
  expect((await changed.promise).map(({ name }) => name)).toContain('later');
});

test('on a server without sessions, streams and notifications, refresh() lists the tools again', async () => {
  const server = newServer('stateless');
  const errors: unknown[] = [];
  const tools = await server.open({ onError: (error) => errors.push(error) });
  expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({ output: '3' });
  await server.ask('add/later');
  expect(tools.find('later')).toBeUndefined();
  const before = tools.schemas();
  await tools.refresh();
  expect(await resultOf(tools, 'later')).toMatchObject({ output: 'ran later' });
  const after = tools.schemas();
  expect(after).not.toBe(before);
  await tools.refresh();
  expect(tools.schemas()).toBe(after);
  expect(errors).toEqual([]);
});

test('a broken stream is resumed if the server stores its events; otherwise the tool call is an error result', async () => {
  const keeping = await newServer('resumable').open();
  expect(await resultOf(keeping, 'cut')).toMatchObject({
    output: 'after the cut',
    state: 'success',
  });
  const forgetful = await newServer().open();
  expect(await resultOf(forgetful, 'cut')).toMatchObject({
    state: 'error',
    output: expect.stringContaining('The MCP server "test" cannot be reached'),
  });
});

test('if the server forgot the session, mcpTools() connects again and repeats the tool call', async () => {
  const server = newServer();
  const tools = await server.open({ reconnect: { attempts: 0 } });
  await server.ask('await/stream');
  await server.ask('forget');
  await server.ask('add/later');
  expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({ output: '3' });
  expect(tools.find('later')).toBeDefined();
  await server.ask('forget');
  await tools.refresh();
  expect(tools.connected).toBe(true);
});

test.each(['mcp', 'resumable', 'stateless'] as const)(
  'parallel tool calls after a restart of the server all run exactly once: %s',
  async (kind) => {
    const server = newServer(kind);
    const tools = await server.open({ reconnect: { attempts: 0 } });
    await server.ask('forget');
    const results = await resultsOf(
      tools,
      [1, 2, 3, 4, 5, 6].map((a) => ({ name: 'add', input: { a, b: 0 } })),
    );
    expect(results.map(({ output }) => output).toSorted()).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(await server.count('call')).toBe(6);
  },
);

test.each([
  ['mcp', 'forget'],
  ['resumable', 'forget'],
  ['mcp', 'down'],
  ['resumable', 'down'],
  // This server is available again immediately. A browser repeats a request without an answer by
  // itself.
  ['stateless', 'down'],
] as const)(
  'tool calls are error results if the server dies while they run: %s, %s',
  async (kind, how) => {
    const server = newServer(kind);
    const tools = await server.open({ reconnect: { attempts: 0 } });
    const call = resultsOf(tools, [{ name: 'slow' }, { name: 'slow' }]);
    await server.ask('await/started:2');
    await server.ask(how);
    const lost = {
      state: 'error',
      output: expect.stringContaining('The MCP server "test" cannot be reached'),
    };
    expect(await call).toMatchObject([lost, lost]);
    // The tool calls may have run, so mcpTools() does not repeat them.
    expect(await server.count('call')).toBe(2);
    await server.ask('up');
    await server.ask('forget');
    expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({ output: '3' });
  },
);

test('close() ends a tool call that still runs in an earlier session', async () => {
  const server = newServer();
  let isBlocked = false;
  const stalling = (async (url: string, init: RequestInit) => {
    if (isBlocked && String(init.body).includes('"slow"')) {
      return new Promise((_, reject) =>
        init.signal!.addEventListener('abort', () => reject(init.signal!.reason)),
      );
    }
    return fetch(url, init);
  }) as typeof fetch;
  const tools = await server.open({ reconnect: { attempts: 0 }, fetch: stalling });
  isBlocked = true;
  const call = resultOf(tools, 'slow');
  await server.ask('forget');
  expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({ output: '3' });
  await tools.close();
  expect(await call).toMatchObject({ state: 'error' });
});

test.each([404, 400, 401, 500, 7, -32_000, -32_001, -32_602])(
  'a protocol error with code %i is an error result with the server’s message',
  async (code) => {
    const server = newServer();
    const tools = await server.open({ reconnect: { attempts: 0 } });
    expect(await resultOf(tools, 'protocol_error', { code })).toMatchObject({
      state: 'error',
      output: 'Error: The MCP server "test" says: as a protocol error',
    });
    expect(await server.count('call')).toBe(1);
    expect(tools.connected).toBe(true);
  },
);

test.each([
  { name: '', inputSchema: { type: 'object' } },
  { name: 7, inputSchema: { type: 'object' } },
  { name: 'x' },
  { name: 'x', inputSchema: [] },
  { name: 'x', inputSchema: { type: 'array' } },
  { name: 'x', inputSchema: { type: 'object', properties: 7 } },
  { name: 'x', inputSchema: { type: 'object', required: 'a' } },
  { name: 'x', inputSchema: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
  null,
])(
  'an invalid tool in the server’s list is reported, and the other tools are kept: %j',
  async (odd) => {
    const errors: AgentError[] = [];
    const server = newServer();
    await server.ask(`define/${encodeURIComponent(JSON.stringify(odd))}`);
    const tools = await server.open({ onError: (error) => errors.push(error) });
    expect(tools.list()).toHaveLength((await newServer().open()).list().length);
    expect(errors).toMatchObject([
      {
        code: 'MCP_BAD_RESPONSE',
        message: expect.stringContaining('lists 1 invalid tools: '),
      },
    ]);
    await tools.refresh();
    expect(errors).toHaveLength(1);
  },
);

test('a tool with invalid fields that are not needed is accepted', async () => {
  const server = newServer();
  const odd = {
    name: 'odd',
    description: null,
    inputSchema: {},
    outputSchema: { type: 'string' },
    annotations: { title: 'Odd one' },
  };
  await server.ask(`define/${encodeURIComponent(JSON.stringify(odd))}`);
  const tools = await server.open({ include: ['odd'] });
  expect(tools.schemas()).toMatchObject([
    { name: 'odd', description: 'Odd one', parameters: { type: 'object' } },
  ]);
});

test('the agent’s own tool takes precedence over a server’s tool with the same name', async () => {
  const server = newServer();
  const changed = deferred<readonly Tool[]>();
  const tools = await server.open({ include: ['add', 'own'], onToolsChanged: changed.resolve });
  const own = tool({
    name: 'own',
    description: '',
    input: { type: 'object' },
    execute: () => 'local',
  });
  const agents = [{ tools, use: [{ tools: [own] }] }, { tools: joinTools([own], tools) }].map(
    (options) => {
      return scriptedAgent([{ toolCalls: [{ name: 'own' }] }, 'done'], options);
    },
  );
  await server.ask('await/stream');
  await server.ask('add/own');
  await changed.promise;
  for (const { model, agent } of agents) {
    await agent.call('Go');
    expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['own', 'add']);
    expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ output: 'local' }]);
  }
});

test('mcpTools() reconnects to a restarted server in the background', async () => {
  const server = newServer();
  const changed = deferred<readonly Tool[]>();
  const tools = await server.open({
    reconnect: { firstDelayMs: 1 },
    onToolsChanged: changed.resolve,
  });
  await server.ask('await/stream');
  await server.ask('add/later');
  await changed.promise;
  await server.ask('forget');
  await server.ask('await/list:12');
  await expect.poll(() => tools.connected).toBe(true);
});

test('the wait doubles before each of five reconnection attempts up to a limit, and later a tool call connects', async () => {
  const server = newServer();
  const waits: number[] = [];
  const failures: string[] = [];
  const over = deferred();
  await server.ask('down');
  const tools = await server.open({
    optional: true,
    reconnect: { sleep: async (ms) => void waits.push(ms) },
    onError: ({ code }) => {
      failures.push(code);
      if (failures.length === 6) over.resolve();
    },
  });
  expect(tools).toMatchObject({ connected: false });
  expect(tools.schemas()).toEqual([]);
  await over.promise;
  expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000]);
  expect(failures).toEqual(Array.from({ length: 6 }, () => 'MCP_UNREACHABLE'));
  await server.ask('up');
  await tools.refresh();
  expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({ output: '3' });
});

test('the tools of an optional server are reported when they arrive, and an `onToolsChanged` that throws breaks nothing', async () => {
  const server = newServer();
  const errors: AgentError[] = [];
  const told: number[] = [];
  await server.ask('down');
  const tools = await server.open({
    optional: true,
    reconnect: { attempts: 0 },
    include: ['add'],
    onError: (error) => errors.push(error),
    onToolsChanged: (now) => {
      told.push(now.length);
      throw new Error('listener');
    },
  });
  await server.ask('up');
  await tools.refresh();
  expect(told).toEqual([1]);
  expect(errors).toMatchObject([
    { code: 'MCP_UNREACHABLE' },
    { code: 'INTERNAL', message: 'listener' },
  ]);
  await tools.open();
  expect(await server.count('list')).toBe(5);
});

test('a tool call to a server that is down is an error result, and works again after the server is back', async () => {
  const server = newServer();
  const tools = await server.open({ reconnect: { attempts: 0 } });
  await server.ask('down');
  expect(await resultOf(tools, 'echo')).toMatchObject({
    state: 'error',
    output: expect.stringContaining('The MCP server "test" cannot be reached'),
  });
  await server.ask('up');
  expect(await resultOf(tools, 'echo')).toMatchObject({ output: '{}' });
});

test('reconnection stops after close(), and after a tool call has connected', async () => {
  const server = newServer();
  await server.ask('down');
  const signals: AbortSignal[] = [];
  const sleep = (_ms: number, signal: AbortSignal): Promise<void> => {
    signals.push(signal);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  };
  const [closed, called] = await Promise.all(
    [1, 2].map(() => server.open({ optional: true, reconnect: { sleep } })),
  );
  await closed!.close();
  expect(signals.map(({ aborted }) => aborted).toSorted()).toEqual([false, true]);
  await server.ask('up');
  await called!.refresh();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('close() ends running tool calls, and ends the session at the server', async () => {
  const server = newServer();
  const tools = await server.open();
  const [add] = tools.list();
  const call = resultOf(tools, 'slow');
  await server.ask('await/started');
  await tools.close();
  expect(await call).toMatchObject({ state: 'error' });
  await server.ask('await/ended');
  expect(tools.schemas()).toEqual([]);
  expect(tools.connected).toBe(false);
  expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({
    output: 'Error: Tool not available: add. The MCP server "test" was closed.',
  });
  const kit = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ toolCalls: [{ name: add!.name }] }, 'x']),
    tools: new Toolkit([add!]),
  });
  await kit.call('Go');
  expect((await kit.messages()).flatMap(toolResultsOf)).toMatchObject([
    { output: expect.stringContaining('was closed') },
  ]);
  await expect(tools.refresh()).rejects.toMatchObject({ code: 'MCP_UNREACHABLE' });
  await tools.close();
});

test('`headers` are sent with each request, and a `headers` function is called for each request', async () => {
  const server = newServer();
  let asked = 0;
  const tools = await server.open({ headers: () => ({ 'x-turn': String((asked += 1)) }) });
  const seen = async (): Promise<number> =>
    Number(
      (JSON.parse((await resultOf(tools, 'headers')).output as string) as JsonObject)['x-turn'],
    );
  const first = await seen();
  expect(await seen()).toBeGreaterThan(first);
  const plain = await server.open({ headers: { authorization: 'Bearer secret' } });
  expect((await resultOf(plain, 'headers')).output).toContain('"authorization":"Bearer secret"');
  await expect(
    server.open({ headers: () => Promise.reject(new Error('no token')) }),
  ).rejects.toMatchObject({
    code: 'MCP_AUTH',
    message: 'mcpTools(): headers() failed: no token',
  });
  for (const headers of [() => undefined, () => null, () => 'Bearer secret']) {
    const error = await server
      .open({ headers: headers as never })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('headers'),
    });
    expect((error as AgentError).message).not.toContain('secret');
  }
});

test('a custom fetch is called without `this`', async () => {
  const server = newServer();
  const seen: unknown[] = [];
  const own = async function (
    this: unknown,
    ...given: Parameters<typeof fetch>
  ): Promise<Response> {
    seen.push(this);
    return fetch(...given);
  } as typeof fetch;
  const tools = await server.open({ fetch: own });
  expect(await resultOf(tools, 'add', { a: 1, b: 2 })).toMatchObject({ output: '3' });
  expect(seen.length).toBeGreaterThan(2);
  expect(seen.every((self) => self === undefined)).toBe(true);
});

test('tools of a server work with approval and with tool groups', async () => {
  const tools = await newServer().open({
    group: 'numbers',
    needsApproval: (_input, { name }) => name === 'add',
    replay: 'safe',
  });
  const kit = new Toolkit(tools.list(), { groups: [{ name: 'numbers', description: 'Counts.' }] });
  const { agent } = scriptedAgent(
    [{ toolCalls: [{ name: 'echo' }, { name: 'add', input: { a: 1, b: 2 } }] }, 'done'],
    { tools: kit },
  );
  const { pending } = await agent.call('Go');
  expect(pending).toMatchObject([{ name: 'add', kind: 'approval' }]);
  await agent.call([{ type: 'approve', toolUseId: pending[0]!.toolUseId }]);
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    '{}',
    '3',
  ]);
  expect(tools.find('add')).toMatchObject({ replay: 'safe', groups: ['numbers'] });
});

test('own tools and tools of two servers work side by side', async () => {
  const [one, two] = await Promise.all([
    newServer().open({ include: ['add'] }),
    newServer().open({ include: ['add'], prefix: 'two_' }),
  ]);
  const clock = tool({
    name: 'clock',
    description: '',
    input: { type: 'object' },
    execute: () => 'noon',
  });
  const { agent, model } = scriptedAgent(
    [
      {
        toolCalls: [
          { name: 'clock' },
          { name: 'add', input: { a: 1, b: 1 } },
          { name: 'two_add', input: { a: 2, b: 2 } },
        ],
      },
      'done',
    ],
    { tools: joinTools([clock], one!, two!) },
  );
  await agent.call('Go');
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['clock', 'add', 'two_add']);
  const outputs = (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output);
  // The results are in order of arrival, so the test sorts them.
  expect(outputs.toSorted()).toEqual(['2', '4', 'noon']);
});

test.each<[fault: string, code: string, retryable: boolean, words: string]>([
  [
    'html',
    'MCP_BAD_RESPONSE',
    false,
    'does not answer as MCP over Streamable HTTP: Unexpected content type: text/html',
  ],
  ['json', 'MCP_BAD_RESPONSE', false, 'does not answer as MCP'],
  ['text', 'MCP_BAD_RESPONSE', false, 'does not answer as MCP'],
  ['other-result', 'MCP_BAD_RESPONSE', false, 'does not answer as MCP'],
  ['other-protocol', 'MCP_BAD_RESPONSE', false, "Server's protocol version is not supported"],
  ['not-found', 'MCP_BAD_RESPONSE', false, 'does not answer as MCP'],
  ['unauthorized', 'MCP_AUTH', false, 'refused the credentials (401)'],
  ['forbidden', 'MCP_AUTH', false, 'refused the credentials (403)'],
  ['broken', 'MCP_UNREACHABLE', true, 'failed (500)'],
  ['busy', 'MCP_UNREACHABLE', true, 'failed (429)'],
  ['reset', 'MCP_UNREACHABLE', true, 'cannot be reached'],
  ['empty-stream', 'MCP_UNREACHABLE', true, 'the connection ended before the answer'],
])('mcpTools() rejects if the server is faulty: %s', async (fault, code, retryable, words) => {
  const opening = mcpTools({
    url: `${inject('mcpUrl')}/fault/${fault}`,
    name: 'odd',
    headers: { authorization: 'Bearer secret' },
  });
  const error = await opening.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    name: 'AgentError',
    code,
    retryable,
    message: expect.stringContaining(words),
    details: { server: 'odd' },
  });
  expect(JSON.stringify((error as AgentError).toJSON())).not.toContain('secret');
});

test('mcpTools() rejects if the server does not answer within `connectTimeoutMs`', async () => {
  await expect(
    mcpTools({ url: `${inject('mcpUrl')}/fault/hang`, name: 'mute', connectTimeoutMs: 5 }),
  ).rejects.toMatchObject({
    code: 'MCP_TIMEOUT',
    retryable: true,
    message: 'The MCP server "mute" did not connect within 5 ms',
  });
});

test.each<[options: object, words: string]>([
  [{ url: 7 }, 'mcpTools(): url must be a string or an object'],
  [{ url: 'not a url' }, 'mcpTools(): url must be the URL of an HTTP server, not "not a url".'],
  [{ url: 'file:///etc/passwd' }, 'mcpTools(): url must be the URL of an HTTP server'],
  [{ prefix: 'a b' }, '"a b" is not a prefix'],
  [{ include: 'add' }, 'mcpTools(): include must be an array'],
  [{ group: 5 }, 'mcpTools(): group must be a string or an array'],
  [{ maxOutputChars: 2.5 }, 'mcpTools(): maxOutputChars must be a whole number'],
  [{ maxOutputChars: -1 }, 'mcpTools(): maxOutputChars must be a whole number of 0 or more'],
  [
    { reconnect: { attempts: 'many' } },
    'mcpTools(): reconnect: attempts must be a number of 0 or more',
  ],
  [{ headers: { 'bad name': 'secret' } }, 'mcpTools(): HTTP cannot send these headers: bad name.'],
  [
    { name: 'other', allowedServers: ['github'] },
    'mcpTools(): the server "other" is not in allowedServers.',
  ],
  [
    { allowedServers: ['github'] },
    'mcpTools(): the server "localhost:1" is not in allowedServers.',
  ],
])('the error about invalid options names them before any request: %j', async (options, words) => {
  const own = vi.fn<typeof fetch>();
  const opening = mcpTools({ url: 'http://localhost:1', fetch: own, optional: true, ...options });
  const error = await opening.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'CONFIGURATION', message: expect.stringContaining(words) });
  expect((error as AgentError).message).not.toContain('secret');
  expect(own).not.toHaveBeenCalled();
});

test('a server in `allowedServers` is accepted', async () => {
  const tools = await newServer().open({
    name: 'github',
    allowedServers: ['github'],
    include: ['add'],
  });
  expect(tools.name).toBe('github');
});

test('without `onError`, background failures are reported on the console', async () => {
  const server = newServer();
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  await server.ask('down');
  const tools = await mcpTools({ url: server.url, optional: true, reconnect: { attempts: 0 } });
  onTestFinished(() => tools.close());
  expect(warn).toHaveBeenCalledWith(
    expect.stringContaining('failed in the background'),
    expect.stringMatching(/^MCP_UNREACHABLE: AgentError: /),
  );
  warn.mockRestore();
});

test('a call of an MCP tool emits pre-acting and post-acting', async () => {
  const tools = await newServer().open({ include: ['add'] });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 1, b: 1 } }] },
    'done',
  ]);
  const events: AgentEvent['type'][] = [];
  for await (const { type } of new ReActAgent({ name: 'a', model, tools }).stream('Go'))
    events.push(type);
  expect(events.filter((type) => /acting/.test(type))).toEqual(['pre-acting', 'post-acting']);
});
