import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
// #region toolkit
import { MemoryStore, ReActAgent, SessionMemory, textOf, tool, toolResultsOf } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { metaTool, Toolkit } from '@isoloop/core/tool';
import * as z from 'zod';
// #endregion
// #region agent-tool
// #endregion

const find = (query: string): string => `found ${query}`;
const offered = (model: ScriptedModel): readonly (readonly string[])[] =>
  model.requests.map(({ tools }) => tools.map(({ name }) => name));

test('the program and the model can switch groups of tools on and off', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'web_search', input: { query: 'tea' } }] },
    { toolCalls: [{ name: 'switch_tool_groups', input: { groups: ['web'] } }] },
    { toolCalls: [{ name: 'web_search', input: { query: 'tea' } }] },
    'Tea.',
    'Bye.',
  ]);

  // #region toolkit
  const query = z.object({ query: z.string() });
  const webSearch = tool({
    name: 'web_search',
    description: 'Searches the web',
    input: query,
    group: 'web',
    execute: (input) => find(input.query),
  });
  const fileSearch = tool({
    name: 'file_search',
    description: 'Searches files',
    input: query,
    group: ['files', 'work'],
    execute: (input) => find(input.query),
  });

  const toolkit = new Toolkit([webSearch, fileSearch, metaTool()], {
    groups: [
      { name: 'web', description: 'Look things up on the web', active: false },
      { name: 'files', description: 'Work with files' }, // active by default
      { name: 'work', description: 'Tools for work' },
    ],
    allowDeletion: false, // remove() throws
  });
  const agent = new ReActAgent({ name: 'assistant', model, tools: toolkit });
  const { text } = await agent.call('What is tea?'); // the model activates `web` through metaTool()

  agent.tools.setActiveGroups?.(['work']); // changes the agent's copy; `toolkit` keeps its groups
  console.assert(
    agent.tools.activeGroups?.().join() === 'work' &&
      toolkit.activeGroups().join() === 'files,work',
  );
  // #endregion

  expect(text).toBe('Tea.');
  expect(toolkit.activeGroups()).toEqual(['files', 'work']);
  expect(agent.tools.activeGroups?.()).toEqual(['work']);
  await agent.call('Bye');
  expect(offered(model)).toEqual([
    ['file_search', 'switch_tool_groups'],
    ['file_search', 'switch_tool_groups'],
    ['web_search', 'file_search', 'switch_tool_groups'],
    ['web_search', 'file_search', 'switch_tool_groups'],
    ['file_search', 'switch_tool_groups'],
  ]);
  const outputs = (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output);
  expect(outputs[0]).toBe(
    'Error: Tool not available: web_search. None of its groups is active: web.',
  );
  expect(outputs[2]).toBe('found tea');
  expect(() => toolkit.remove('web_search')).toThrow('does not allow deletion');
  expect(() => toolkit.updateGroups(['none'], true)).toThrow('There is no tool group "none"');
});

test('a preset sets parameters of a tool that the model cannot change', async () => {
  const said: ScriptedReply = {
    toolCalls: [{ name: 'query', input: { sql: 'select 1', tenant: 'evil' } }],
  };
  const model = new ScriptedModel([said, 'One.', said, 'Two.']);
  const ran: string[] = [];
  const run = (sql: string, tenant: string): string => `${ran.push(`${tenant}: ${sql}`)} rows`;

  // #region presets
  const queryTool = tool({
    name: 'query',
    description: 'Asks the database',
    input: z.object({ sql: z.string(), tenant: z.string() }),
    preset: { tenant: 'acme' }, // hidden from the model's schema; a value from the model is ignored
    execute: ({ sql, tenant }) => run(sql, tenant),
  });
  const database = new Toolkit([queryTool]);
  database.updatePreset('query', { tenant: 'umbrella' }); // for agents created from now on
  const analyst = new ReActAgent({ name: 'analyst', model, tools: database });

  await analyst.call('How many?');
  if (analyst.tools instanceof Toolkit) analyst.tools.updatePreset('query', { tenant: 'initech' }); // for this agent only
  await analyst.call('And now?');
  // #endregion

  expect(ran).toEqual(['umbrella: select 1', 'initech: select 1']);
  expect(Object.keys(model.requests[0]?.tools[0]?.parameters['properties'] ?? {})).toEqual(['sql']);
});

test('agentTool() makes an agent a tool', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_researcher', id: 'c1', input: { message: 'What is tea?' } }] },
    'It is a leaf.',
    {
      toolCalls: [
        { name: 'call_researcher', id: 'c2', input: { message: 'Where from?', session_id: 'c1' } },
      ],
    },
    'From China.',
    'Tea is a leaf from China.',
  ]);
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region agent-tool
  const store = new MemoryStore();
  const researcher = agentTool(
    ({ sessionId }) =>
      new ReActAgent({
        name: 'researcher',
        sessionId,
        model,
        memory: new SessionMemory(store, sessionId),
      }),
    { name: 'researcher', description: 'Researches a question' },
  );
  const editor = new ReActAgent({ name: 'editor', model, tools: [researcher] });

  for await (const event of editor.stream('Write about tea.'))
    console.log(event.agentPath.join('/'), event.type); // prints editor/researcher reasoning-chunk
  // #endregion

  expect(log.mock.calls).toContainEqual(['editor/researcher', 'reasoning-chunk']);
  expect(log.mock.lastCall).toEqual(['editor', 'run-end']);
  expect(model.requests[3]?.messages.map(textOf)).toEqual([
    'What is tea?',
    'It is a leaf.',
    'Where from?',
  ]);
  expect((await editor.messages()).flatMap(toolResultsOf)[0]?.output).toBe(
    'session_id: c1\n\nIt is a leaf.',
  );
});
