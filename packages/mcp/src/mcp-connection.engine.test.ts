import { auth, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { expect, test, vi } from 'vitest';
import { newServer } from '@test/support/mcp-server.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { type AgentError, outputText, toolResultsOf } from '@isoloop/core';
import type { McpTools } from './mcp-tools.ts';

/** An OAuth client that keeps everything in `kept`, as a worker keeps it in its storage. */
function oauthClient(kept: Record<string, unknown> = {}) {
  const redirectUrl = 'https://app.example.com/callback';
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { client_name: 'app', redirect_uris: [redirectUrl] },
    clientInformation: () => kept['client'] as never,
    saveClientInformation: (client) => void (kept['client'] = client),
    tokens: () => kept['tokens'] as never,
    saveTokens: (tokens) => void (kept['tokens'] = tokens),
    codeVerifier: () => String(kept['verifier']),
    saveCodeVerifier: (verifier) => void (kept['verifier'] = verifier),
    redirectToAuthorization: (url) => void (kept['page'] = url.href),
  };
  return { kept, provider };
}

/** Lets the user allow the access, and gives the client its tokens. */
async function allow(serverUrl: string, { kept, provider }: ReturnType<typeof oauthClient>) {
  const { code } = (await (await fetch(String(kept['page']))).json()) as { code: string };
  expect(await auth(provider, { serverUrl, authorizationCode: code })).toBe('AUTHORIZED');
}

async function add(tools: McpTools): Promise<string> {
  const { agent } = scriptedAgent(
    [{ toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] }, 'done'],
    { tools },
  );
  await agent.call('Add');
  return outputText((await agent.messages()).flatMap(toolResultsOf)[0]!.output);
}

test('with `auth`, a person allows the access once, and the tokens stay with the client', async () => {
  const server = newServer('guarded');
  const client = oauthClient();
  await expect(server.open({ auth: client.provider })).rejects.toMatchObject({
    code: 'MCP_AUTH',
    message: 'The MCP server "test" needs a person who allows the access.',
  });
  expect(client.kept['page']).toContain('/oauth/authorize?');
  await allow(server.url, client);
  expect(await add(await server.open({ auth: client.provider }))).toBe('3');
  // Another process with the same storage needs no person.
  expect(await add(await server.open({ auth: oauthClient(client.kept).provider }))).toBe('3');
  expect((await server.ask('authorized/authorize'))['count']).toBe(1);
});

test('a tool call whose token was revoked is an error, and works after a person allows it again', async () => {
  const server = newServer('guarded');
  const client = oauthClient();
  await server.open({ auth: client.provider }).catch(() => {});
  await allow(server.url, client);
  const tools = await server.open({ auth: client.provider, reconnect: { attempts: 0 } });
  await server.ask('revoke');
  expect(await add(tools)).toBe(
    'Error: The MCP server "test" needs a person who allows the access.',
  );
  await allow(server.url, client);
  expect(await add(tools)).toBe('3');
});

test('an optional server without access asks a person once, not at each attempt to reconnect', async () => {
  const server = newServer('guarded');
  const client = oauthClient();
  const errors: AgentError[] = [];
  const asked = vi.spyOn(client.provider, 'redirectToAuthorization');
  const tools = await server.open({
    auth: client.provider,
    optional: true,
    onError: (error) => errors.push(error),
    reconnect: { sleep: async () => {} },
  });
  expect(errors).toMatchObject([{ code: 'MCP_AUTH' }]);
  expect(tools.schemas()).toEqual([]);
  await allow(server.url, client);
  await tools.refresh();
  expect(await add(tools)).toBe('3');
  expect(asked).toHaveBeenCalledTimes(1);
});

test('the authorization server does not get the headers for the MCP server', async () => {
  const server = newServer('guarded');
  const client = oauthClient();
  const headers = { 'x-secret': 'key' };
  await server.open({ auth: client.provider, headers }).catch(() => {});
  await allow(server.url, client);
  expect(await add(await server.open({ auth: client.provider, headers }))).toBe('3');
  expect((await server.ask('authorized/leak'))['count']).toBe(0);
});

test('without `auth`, the server refuses the credentials', async () => {
  await expect(newServer('guarded').open()).rejects.toMatchObject({
    code: 'MCP_AUTH',
    message: 'The MCP server "test" refused the credentials (401).',
  });
});

test('an authorization that fails says why', async () => {
  const server = newServer('guarded');
  const { provider } = oauthClient({ tokens: { access_token: 'x', token_type: 'Bearer' } });
  const failing = {
    ...provider,
    redirectToAuthorization: () => Promise.reject(new Error('no window')),
  };
  await expect(server.open({ auth: failing })).rejects.toMatchObject({
    code: 'MCP_AUTH',
    message: 'mcpTools(): auth.redirectToAuthorization() failed: no window',
  });
});

// https://github.com/aaif-goose/goose/issues/12016
test.each([
  [1, 500],
  [1, 429],
  [2, 503],
  [1, 0],
  [Infinity, 500],
  [Infinity, 400],
])(
  'a person is asked only if a token cannot be renewed for long: %d times %i',
  async (failures, status) => {
    const server = newServer('guarded');
    const client = oauthClient();
    await server.open({ auth: client.provider }).catch(() => {});
    await allow(server.url, client);
    const { tokens } = client.kept;
    let tries = 0;
    const tools = await server.open({
      auth: client.provider,
      reconnect: { attempts: 0 },
      fetch: async (url, init = {}) => {
        if (!String(init.body).includes('grant_type=refresh_token')) return fetch(url, init);
        tries += 1;
        if (tries > failures) return Response.json(tokens);
        if (!status) throw new TypeError('Failed to fetch');
        const error = status === 400 ? 'invalid_grant' : 'server_error';
        return Response.json({ error }, { status });
      },
    });
    client.kept['tokens'] = { ...(tokens as object), access_token: 'old', refresh_token: 'r' };
    const asked = vi.spyOn(client.provider, 'redirectToAuthorization');
    const isForLong = failures === Infinity;
    expect(await add(tools)).toEqual(isForLong ? expect.stringContaining('Error: The MCP') : '3');
    expect(asked).toHaveBeenCalledTimes(isForLong && status === 500 ? 1 : 0);
  },
);
