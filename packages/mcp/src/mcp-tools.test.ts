import { expect, test } from 'vitest';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';
import { newServer } from '@test/support/mcp-server.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { type AgentError, toolResultsOf } from '@isoloop/core';
import { handOff } from '@isoloop/core/several';
import type { ScriptedModel } from '@isoloop/core/testing';
import { joinTools, Toolkit } from '@isoloop/core/tool';

/** The tool `grow` adds the tool `later` and reports the change before it answers. */
const replies = [
  { toolCalls: [{ name: 'grow', input: {} }] },
  { toolCalls: [{ name: 'later', input: {} }] },
  'done',
];

/** Returns for each request of the model whether it offers the tool `later`. */
function offersOf({ requests }: ScriptedModel): readonly boolean[] {
  return requests.map(({ tools }) => tools.some(({ name }) => name === 'later'));
}

type Answer = (init: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` function and a promise that resolves when the client reads a list with the tool
 * `later`. `answer`: answers each list after a tool call, and the promise resolves before. Default:
 * the server answers.
 */
function laterList(answer?: Answer): {
  readonly fetch: typeof fetch;
  readonly asked: Promise<void>;
} {
  let isOpen = false;
  let ask: (() => void) | undefined;
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const clientFetch: typeof fetch = async (url, init = {}) => {
    const isLater = isOpen && String(init.body).includes('"tools/list"');
    isOpen ||= String(init.body).includes('"tools/call"');
    if (!isLater) return fetch(url, init);
    if (answer) {
      ask?.();
      return answer(init);
    }
    const response = await fetch(url, init);
    // A client may also list the tools for another reason, before the change.
    if ((await response.clone().text()).includes('"later"')) ask?.();
    return response;
  };
  return { fetch: clientFetch, asked };
}

/**
 * Waits for an agent call whose server is real. The clock stands still until the report of a
 * changed list has arrived, so that a busy machine does not miss it.
 */
async function afterReport<T>(
  clock: FakeClock,
  asked: Promise<void>,
  call: Promise<T>,
): Promise<T> {
  await asked;
  return clock.advanceUntil(call, 1);
}

test.each(['mcp', 'resumable', 'current'] as const)(
  'a tool that another tool adds is in the next request, and can be called (%s)',
  async (kind) => {
    const clock = fakeClock();
    const server = newServer(kind);
    const { fetch: clientFetch, asked } = laterList();
    const tools = await server.open({ fetch: clientFetch });
    if (kind !== 'current') await server.ask('await/stream');
    const { agent, model } = scriptedAgent(replies, { tools });
    await afterReport(clock, asked, agent.call('Go'));
    expect(offersOf(model)).toEqual([false, true, true]);
    expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
      'grown',
      'ran later',
    ]);
  },
);

test('a change that the server reports between two calls is in the first request of the second one', async () => {
  const server = newServer();
  const tools = await server.open();
  await server.ask('await/stream');
  const { agent, model } = scriptedAgent(['Hi', 'Hi again'], { tools });
  await agent.call('One');
  const lists = Number(await server.count('list'));
  await server.ask('add/later');
  // The report has arrived, and the list has not.
  await server.ask(`await/list:${lists + 1}`);
  await agent.call('Two');
  expect(offersOf(model)).toEqual([false, true]);
});

test('an agent waits for the list of a joined set, and only for tools that it may call', async () => {
  const clock = fakeClock();
  const server = newServer();
  const { fetch: clientFetch, asked } = laterList();
  const tools = await server.open({ fetch: clientFetch });
  await server.ask('await/stream');
  const { agent, model } = scriptedAgent(replies, { tools: joinTools(new Toolkit(), tools) });
  const call = agent.call('Go', { allowTools: ['grow', 'later'] });
  await afterReport(clock, asked, call);
  expect(offersOf(model)).toEqual([false, true, true]);
});

test('the members of a team wait for the lists of their tools', async () => {
  const clock = fakeClock();
  const server = newServer();
  const { fetch: clientFetch, asked } = laterList();
  const tools = await server.open({ fetch: clientFetch });
  await server.ask('await/stream');
  const member = { name: 'helper', description: 'Helps.', systemPrompt: 'Help.', tools };
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'transfer_to_helper', input: {} }] }, ...replies],
    { use: [handOff({ to: [member] })] },
  );
  await afterReport(clock, asked, agent.call('Go'));
  expect(offersOf(model)).toEqual([false, false, true, true]);
});

test('if the list cannot be read, the run continues with the old one, and `onError` gets the reason', async () => {
  const clock = fakeClock();
  const server = newServer();
  const errors: AgentError[] = [];
  const broken = async (): Promise<Response> => new Response('broken', { status: 500 });
  const { fetch: clientFetch, asked } = laterList(broken);
  const tools = await server.open({ onError: (error) => errors.push(error), fetch: clientFetch });
  await server.ask('await/stream');
  const { agent, model } = scriptedAgent([replies[0]!, 'done'], { tools });
  const result = await afterReport(clock, asked, agent.call('Go'));
  expect(result).toMatchObject({ text: 'done', reason: 'stop' });
  expect(offersOf(model)).toEqual([false, false]);
  expect(errors).toMatchObject([{ code: 'MCP_UNREACHABLE' }]);
});

test('a list that does not come delays the run by `connectTimeoutMs` at most', async () => {
  const clock = fakeClock();
  const server = newServer();
  const errors: AgentError[] = [];
  const { fetch: clientFetch, asked } = laterList(({ signal }) => untilAborted(signal!));
  const tools = await server.open({
    connectTimeoutMs: 500,
    onError: (error) => errors.push(error),
    fetch: clientFetch,
  });
  await server.ask('await/stream');
  const { agent, model } = scriptedAgent([replies[0]!, 'done'], { tools });
  const result = await afterReport(clock, asked, agent.call('Go'));
  expect(result).toMatchObject({ text: 'done', reason: 'stop' });
  expect(offersOf(model)).toEqual([false, false]);
  expect(errors[0]).toMatchObject({ code: 'MCP_TIMEOUT' });
});

test('an abort ends the wait for a list', async () => {
  const clock = fakeClock();
  const server = newServer();
  const aborting = new AbortController();
  const { fetch: clientFetch, asked } = laterList(({ signal }) => {
    aborting.abort();
    return untilAborted(signal!);
  });
  const tools = await server.open({ fetch: clientFetch });
  await server.ask('await/stream');
  const { agent, model } = scriptedAgent([replies[0]!, 'done'], { tools });
  const call = agent.call('Go', { signal: aborting.signal });
  expect(await afterReport(clock, asked, call)).toMatchObject({ reason: 'aborted', iterations: 1 });
  expect(model.requests).toHaveLength(1);
});

/** Returns a `fetch` function of a server that reports a change with each list. */
function chattyFetch(onList: () => void): typeof fetch {
  const report = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
  return async (url, init = {}) => {
    const response = await fetch(url, init);
    if (!String(init.body).includes('"tools/list"')) return response;
    onList();
    return new Response((await response.text()) + report, { headers: response.headers });
  };
}

// https://github.com/microsoft/aspire/pull/14494
test('a server that reports a change with each list delays no request, and gets few requests', async () => {
  let lists = 0;
  const errors: AgentError[] = [];
  const tools = await newServer().open({
    fetch: chattyFetch(() => (lists += 1)),
    connectTimeoutMs: 3_000,
    onError: (error) => errors.push(error),
  });
  const { agent, model } = scriptedAgent(replies, { tools });
  expect(await agent.call('Go')).toMatchObject({ text: 'done' });
  expect(offersOf(model)).toEqual([false, true, true]);
  // The wait for the list never reached its time limit.
  expect(errors).toEqual([]);
  expect(lists).toBeLessThan(50);
});

test('such a server is asked again after a pause, so that a later change arrives', async () => {
  const server = newServer();
  const lists: string[][] = [];
  let onFresh = (): void => {};
  const hasFresh = new Promise<void>((resolve) => (onFresh = resolve));
  await server.open({
    fetch: chattyFetch(() => {}),
    onToolsChanged: (tools) => {
      lists.push(tools.map(({ name }) => name));
      onFresh();
    },
  });
  const count = Number(await server.count('list'));
  await server.ask(`await/list:${count + 2}`);
  await server.ask('add/fresh');
  await hasFresh;
  expect(lists[0]).toContain('fresh');
});

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  );
}

interface Page {
  readonly tools: readonly string[];
  readonly nextCursor?: string | null;
}

/** Returns the names of the tools that a server lists in these pages. */
async function namesFrom(pageAt: (cursor: string | undefined) => Page): Promise<readonly string[]> {
  const tools = await newServer().open({
    fetch: async (url, init = {}) => {
      if (!String(init.body).includes('"tools/list"')) return fetch(url, init);
      const { id, params } = JSON.parse(String(init.body)) as {
        readonly id: number;
        readonly params?: { readonly cursor?: string };
      };
      const page = pageAt(params?.cursor);
      const listed = page.tools.map((name) => ({ name, inputSchema: { type: 'object' } }));
      return Response.json({ jsonrpc: '2.0', id, result: { ...page, tools: listed } });
    },
  });
  return tools.list().map(({ name }) => name);
}

test.each<[what: string, cursor: string | null]>([
  // https://github.com/DeusData/codebase-memory-mcp/issues/1247
  ['the same cursor each time', '8'],
  // https://github.com/modelcontextprotocol/java-sdk/issues/628
  ['an empty cursor', ''],
  ['null as the cursor', null],
])('a server that sends %s lists each tool once', async (_what, nextCursor) => {
  expect(await namesFrom(() => ({ tools: ['a', 'b'], nextCursor }))).toEqual(['a', 'b']);
});

// https://github.com/aj47/SpeakMCP/issues/570
test('a tool that is listed twice is offered once', async () => {
  const names = await namesFrom((cursor) =>
    cursor ? { tools: ['b', 'c'] } : { tools: ['a', 'b'], nextCursor: '1' },
  );
  expect(names).toEqual(['a', 'b', 'c']);
});
