import { expect, test } from 'vitest';
import { newServer } from '@test/support/mcp-server.ts';

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
