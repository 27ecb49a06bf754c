import { expect, test } from 'vitest';
import { ReActAgent, tool, type Tool, toolResultsOf, type Middleware } from '@isoloop/core';
import { Agent } from '@isoloop/core/agent';
import { ScriptedModel } from '@isoloop/core/testing';
import { allowTools } from '@isoloop/core/tool';

const named = (name: string): Tool =>
  tool({ name, description: '', input: {}, execute: () => `${name} ran` });

/** Adds a tool after `wrapRun` of all middleware. */
const adding = (name: string): Middleware => ({
  onError: 'fail',
  on: { 'pre-call': (_event, run) => run.tools.add([named(name)]) },
});

const hiding: Middleware = {
  wrapRun: (input, next, run) => {
    run.tools.set(allowTools(run.tools.current, []));
    return next(input);
  },
};

test('neither `allowTools` nor other middleware hides a tool that was added to the run', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'added' }] }, 'Done.', 'Done.']);
  const seen: string[][] = [];
  const watching: Middleware = {
    wrapRequest: (draft, next, run) => {
      seen.push(run.tools.added.map(({ name }) => name));
      return next(draft);
    },
  };
  const tools = [named('own')];
  const agent = new ReActAgent({ name: 'a', model, tools, use: [hiding, watching] });
  const result = await agent.call('go', { use: [adding('added')], allowTools: ['own'] });
  expect(result.toolsUsed).toEqual(['added']);
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['added']);
  await agent.call('again');
  expect(model.requests[2]!.tools).toEqual([]);
  expect(seen).toEqual([['added'], ['added'], []]);
});

test('a run cannot get a tool with the name of another tool', async () => {
  const model = new ScriptedModel([]);
  const agent = new Agent({ name: 'a', model, tools: [named('own')] });
  await expect(agent.call('go', { use: [adding('own')] })).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message:
      'Two tools are named "own". Give one another name. ' +
      'The tools of an MCP server get other names with `prefix` of mcpTools().',
  });
  expect(await agent.messages()).toEqual([]);
});

test('`setTools()` in `wrapRequest` hides the other tools from this request, and a model that calls one gets an error', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'hidden' }, { name: 'shown' }] },
    'Done.',
    'Next.',
  ]);
  const middleware: Middleware = {
    wrapRequest: (draft, next, run) => {
      run.tools.set(allowTools(run.tools.current, ['shown']));
      return next({ ...draft, tools: run.tools.schemas });
    },
  };
  const tools = [named('shown'), named('hidden')];
  const agent = new Agent({ name: 'a', model, tools, use: [middleware] });
  expect((await agent.call('go')).toolsUsed).toEqual(['shown']);
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['shown']);
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ name, state }) => [name, state])).toEqual([
    ['hidden', 'error'],
    ['shown', 'success'],
  ]);
});
