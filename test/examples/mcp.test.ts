/// <reference path="../mcp-server/provided-context.d.ts" />
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region mcp
import { ReActAgent, tool, toolResultsOf } from '@isoloop/core';
import { joinTools, Toolkit } from '@isoloop/core/tool';
import { jsonSchema } from '@isoloop/core/schema';
import { mcpTools } from '@isoloop/mcp'; // npm install @modelcontextprotocol/client
// #endregion

const host = 'https://tools.example.com';

/** Redirects requests for the example's host to a new test server. Returns the server's address. */
function redirectToServer(kind = 'mcp'): string {
  const server = `${inject('mcpUrl')}/servers/${crypto.randomUUID()}`;
  const realFetch = globalThis.fetch;
  vi.stubGlobal('fetch', (url: string | URL, init: RequestInit) =>
    realFetch(String(url).replace(`${host}/mcp`, `${server}/${kind}`), init),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  return server;
}

test('an agent uses the tools of an MCP server and its own tools', async () => {
  redirectToServer();
  const getToken = async (): Promise<string> => 'secret';
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'clock' }, { name: 'calc_add', input: { a: 1, b: 'x' } }] },
    { toolCalls: [{ name: 'calc_add', input: { a: 1, b: 2 } }] },
    'Three.',
  ]);
  const clock = tool({
    name: 'clock',
    description: 'Tells the time',
    input: { type: 'object' },
    execute: () => 'noon',
  });

  // #region mcp
  const calculator = await mcpTools({
    url: 'https://tools.example.com/mcp',
    headers: async () => ({ authorization: `Bearer ${await getToken()}` }), // or a plain object
    include: ['add', 'echo'], // names at the server; or `exclude`
    prefix: 'calc_', // calc_add, calc_echo
    schema: jsonSchema, // validates arguments here; default: only the server does
    maxOutputChars: 20_000, // of a result's text; default 50,000
  });
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: calculator.instructions ?? '',
    model,
    tools: joinTools([clock], calculator), // or `tools: calculator`, or `new Toolkit([clock, ...calculator.list()])`
  });
  const { text } = await agent.call('What is 1 + 2, and when?');

  await calculator.close(); // ends the session at the server
  // #endregion

  expect(text).toBe('Three.');
  expect(model.requests[0]!.messages[0]).toMatchObject({
    role: 'system',
    content: [{ text: 'Add first.' }],
  });
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual([
    'clock',
    'calc_add',
    'calc_echo',
  ]);
  const results = (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output);
  expect(results).toContain('3');
  expect(results.join()).toContain('b: must be number, is string');
});

test('an optional MCP server may be down when the agent starts', async () => {
  const server = redirectToServer();
  const warned: string[] = [];
  const report = (message: string): void => void warned.push(message);
  await fetch(`${server}/down`);

  // #region mcp-reconnect
  const calculator = await mcpTools({
    url: 'https://tools.example.com/mcp',
    name: 'calculator', // for error messages; default: the host
    allowedServers: ['calculator', 'files'], // refuses other names; useful if others can edit the list
    optional: true, // a server that is down does not fail; its tools appear when it is up
    connectTimeoutMs: 10_000, // default 30,000
    reconnect: { attempts: 8, firstDelayMs: 2_000, maxDelayMs: 30_000 }, // defaults 5, 5,000, 60,000; the wait doubles
    onError: ({ message }) => report(message),
    onToolsChanged: (tools) => report(`${tools.length} tools`),
  });
  console.assert(!calculator.connected && calculator.schemas().length === 0);
  // #endregion

  expect(warned).toEqual([
    expect.stringContaining('The MCP server "calculator" cannot be reached'),
  ]);
  await fetch(`${server}/up`);
  await calculator.refresh();
  expect(new Toolkit(calculator.list()).schemas().length).toBeGreaterThan(3);
  await calculator.close();
});

test('a person answers the question of an MCP server', async () => {
  redirectToServer('current');
  const model = new ScriptedModel([{ toolCalls: [{ name: 'order' }] }, 'Ordered.']);
  const ask = (_message: string, _form: unknown) => ({ size: 'M' });

  // #region mcp-question
  const shop = await mcpTools({ url: 'https://tools.example.com/mcp' });
  const assistant = new ReActAgent({ name: 'assistant', model, tools: shop });
  const asked = await assistant.call('Order a shirt.');
  const { toolUseId, reason, details } = asked.pending[0]!; // after a restart: `await assistant.call()`
  const form = ask(reason ?? '', details?.['questions']); // messages and JSON Schemas by key
  const answered = await assistant.call([
    { toolUseId, type: 'result', output: JSON.stringify(form) },
  ]);
  // #endregion

  expect(answered.text).toBe('Ordered.');
  expect((await assistant.messages()).flatMap(toolResultsOf)).toMatchObject([
    { output: 'ordered {"count":1,"size":"M"}' },
  ]);
  await shop.close();
});
