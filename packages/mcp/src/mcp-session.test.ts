import { expect, test } from 'vitest';
import { newServer } from '@test/support/mcp-server.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { toolResultsOf } from '@isoloop/core';
import type { McpTools } from './mcp-tools.ts';

/**
 * A server that was restarted, which answers with `forgotten` to requests of its earlier session.
 * Such an answer gets the id of the request.
 */
async function restartedServer(
  forgotten: (id: unknown) => Response,
): Promise<{ readonly tools: McpTools; readonly count: () => Promise<unknown> }> {
  const server = newServer();
  const sessions = new Set<string | null>();
  let isRestarted = false;
  const tools = await server.open({
    reconnect: { attempts: 0 },
    fetch: async (url, init = {}) => {
      const session = new Headers(init.headers).get('mcp-session-id');
      if (!isRestarted) sessions.add(session);
      else if (session && sessions.has(session)) {
        if (init.method !== 'POST') return new Response(null, { status: 405 });
        return forgotten((JSON.parse(String(init.body)) as { readonly id?: unknown }).id);
      }
      return fetch(url, init);
    },
  });
  isRestarted = true;
  return { tools, count: () => server.count('call') };
}

async function twoCalls(tools: McpTools): Promise<readonly unknown[]> {
  const add = { toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] };
  const { agent } = scriptedAgent([add, add, 'done'], { tools });
  await agent.call('Go');
  return (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output);
}

function answer(status: number, body: unknown): Response {
  return Response.json(body, { status });
}

function rpcError(code: number, message: string, id: unknown = null): object {
  return { jsonrpc: '2.0', error: { code, message }, id };
}

test.each<[server: string, forgotten: () => Response]>([
  // https://github.com/modelcontextprotocol/typescript-sdk/pull/1402
  ['410', () => answer(410, { error: 'Gone' })],
  // https://github.com/markmhendrickson/neotoma/issues/1923
  ['503', () => answer(503, { error: 'Session not found' })],
  // https://github.com/punkpeye/fastmcp/issues/121
  ['500', () => answer(500, rpcError(-32_000, 'Bad Request: No valid session ID provided'))],
])(
  'a restarted server that answers with %s gets the tool call in a new session',
  async (...row) => {
    const { tools, count } = await restartedServer(row[1]);
    expect(await twoCalls(tools)).toEqual(['3', '3']);
    expect(await count()).toBe(2);
  },
);

test.each<[server: string, forgotten: (id: unknown) => Response]>([
  // https://github.com/nicobailon/pi-mcp-adapter/issues/184
  ['-32000', (id) => answer(200, rpcError(-32_000, 'Server not initialized', id))],
  // https://github.com/joshrotenberg/tower-mcp/pull/65
  ['-32005', (id) => answer(200, rpcError(-32_005, 'Session not found or expired', id))],
  // https://github.com/aklivity/zilla/issues/2525
  ['an answer to no request', () => answer(200, rpcError(-32_600, 'Invalid Request'))],
])('after 200 and %s, the tool call is not repeated, and the next one works', async (...row) => {
  const { tools, count } = await restartedServer(row[1]);
  expect(await twoCalls(tools)).toEqual([expect.stringContaining('Error: The MCP server'), '3']);
  expect(await count()).toBe(1);
});

test('a failed tool that speaks of a session of its own does not run twice', async () => {
  const { tools, count } = await restartedServer(() =>
    answer(500, { error: 'The database session expired' }),
  );
  expect(await twoCalls(tools)).toEqual([expect.stringContaining('failed (500)'), '3']);
  expect(await count()).toBe(1);
});

test('an answer that is no valid message is named in words, not in JSON of the SDK', async () => {
  const { tools } = await restartedServer(() => answer(200, rpcError(-32_600, 'Invalid Request')));
  expect((await twoCalls(tools))[0]).toBe(
    'Error: The MCP server "test" does not answer as MCP over Streamable HTTP: an answer is no valid message',
  );
});

test('refresh() opens a new session after 200 and an error about the session', async () => {
  const { tools } = await restartedServer((id) =>
    answer(200, rpcError(-32_001, 'Session not found', id)),
  );
  await tools.refresh();
  expect(tools.connected).toBe(true);
});

test('a server that failed keeps its session', async () => {
  const { tools, count } = await restartedServer(() => answer(503, { error: 'Overloaded' }));
  expect(await twoCalls(tools)).toEqual(Array(2).fill(expect.stringContaining('failed (503)')));
  expect(await count()).toBe(0);
});
