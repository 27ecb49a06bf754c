import {
  auth,
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
  type CrossAppAccessContext,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';
import { ReActAgent, AgentError, toolResultsOf, type JsonObject } from '@isoloop/core';
import { mcpTools, type McpTools } from '@isoloop/mcp';
import { ScriptedModel } from '@isoloop/core/testing';
import { OAuthClient } from './oauth-client.ts';

// conformance.test.ts runs this. Argument: the URL of an MCP server.

/** What an agent does in a scenario: the tool that it calls, with its arguments. */
const calls: Readonly<Record<string, JsonObject>> = {
  add_numbers: { a: 2, b: 3 },
  test_reconnection: {},
  test_client_elicitation_defaults: {},
  'test-tool': {},
};

const url = process.argv[2]!;
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Readonly<
  Record<string, string>
>;
const provider = newProvider();
const tools = await authorized(() => mcpTools({ url, auth: provider }));
for (const { name } of tools.list()) {
  const input = calls[name];
  if (input) await authorized(() => callTool(tools, name, input));
}
await tools.close();

function newProvider(): OAuthClientProvider {
  const { name, client_id: clientId = '', client_secret: clientSecret = '' } = context;
  switch (name) {
    case 'auth/client-credentials-jwt':
      return new PrivateKeyJwtProvider({
        clientId,
        privateKey: context['private_key_pem'] ?? '',
        algorithm: context['signing_algorithm'] ?? 'ES256',
      });
    case 'auth/client-credentials-basic':
      return new ClientCredentialsProvider({ clientId, clientSecret });
    case 'auth/cross-app-access-complete-flow':
      return new CrossAppAccessProvider({ clientId, clientSecret, assertion });
    case 'auth/pre-registration':
      return new OAuthClient({ client_id: clientId, client_secret: clientSecret });
    default:
      return new OAuthClient();
  }
}

/** Asks the identity provider of the user for an assertion about the user. */
async function assertion({
  authorizationServerUrl,
  resourceUrl,
}: CrossAppAccessContext): Promise<string> {
  const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
    tokenEndpoint: context['idp_token_endpoint'] ?? '',
    audience: authorizationServerUrl,
    resource: resourceUrl,
    idToken: context['idp_id_token'] ?? '',
    clientId: context['idp_client_id'] ?? '',
  });
  return jwtAuthGrant;
}

/** Does the work. If a person has to allow the access, that happens, at most twice. */
async function authorized<T>(work: () => Promise<T>, timesLeft = 2): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { callback } = provider as OAuthClient;
    if (!AgentError.is(error) || error.code !== 'MCP_AUTH' || !callback || !timesLeft) throw error;
    const iss = callback.get('iss');
    await auth(provider, {
      serverUrl: url,
      authorizationCode: callback.get('code') ?? '',
      ...(iss !== null && { iss }),
    });
    return authorized(work, timesLeft - 1);
  }
}

/** Calls a tool as an agent does. A person accepts the defaults of each form. */
async function callTool(from: McpTools, name: string, input: JsonObject): Promise<void> {
  const model = new ScriptedModel([{ toolCalls: [{ name, input }] }, 'done']);
  const agent = new ReActAgent({ name: 'a', model, tools: from });
  let { pending } = await agent.call('Go');
  while (pending.length > 0) {
    const answers = pending.map(({ toolUseId }) => ({ type: 'approve', toolUseId }) as const);
    ({ pending } = await agent.call(answers));
  }
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  console.log(name, JSON.stringify(result));
  if (/allow the access/.test(JSON.stringify(result?.output)))
    throw new AgentError('MCP_AUTH', 'A person has to allow more.');
}
