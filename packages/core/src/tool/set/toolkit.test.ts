import { expect, test } from 'vitest';
import * as z from 'zod';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { toolResultsOf } from '../../message/msg.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { contextToken, provide } from '../context-token.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { metaTool } from './meta-tool.ts';
import { toolList, toolsBefore, type ToolSet } from './tool-set.ts';
import { tool, type Tool } from '../tool.ts';
import { Toolkit, type ToolGroupOptions } from './toolkit.ts';

const web: ToolGroupOptions = { name: 'web', description: 'Searches the web', active: false };
const files: ToolGroupOptions = { name: 'files', description: 'Reads files', active: true };
const make = (name: string, group: string | readonly string[] = []) =>
  tool({ name, description: name, input: { type: 'object' }, group, execute: () => name });
const kit = () =>
  new Toolkit(
    [make('free'), make('search', 'web'), make('read', ['files']), make('both', ['web', 'files'])],
    { groups: [web, files] },
  );
const names = (set: ToolSet) => set.schemas().map(({ name }) => name);
const failsWith = (code: string, text = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(text) as unknown as string });

test('a tool without groups is always active, and one with groups is active while one of them is', () => {
  const toolkit = kit();
  expect(names(toolkit)).toEqual(['free', 'read', 'both']);
  expect(toolkit.activeGroups()).toEqual(['files']);
  toolkit.updateGroups(['files'], false);
  expect(names(toolkit)).toEqual(['free']);
  toolkit.updateGroups(['web'], true);
  expect(names(toolkit)).toEqual(['free', 'search', 'both']);
  toolkit.setActiveGroups(['files']);
  expect(toolkit.activeGroups()).toEqual(['files']);
});

test('find() distinguishes an inactive tool from an unknown one', () => {
  const toolkit = kit();
  expect(toolkit.find('read')).toMatchObject({ name: 'read' });
  expect(toolkit.find('search')).toMatch(/not available: search.*web/);
  expect(toolkit.find('nothing')).toBeUndefined();
  toolkit.setActiveGroups(['web']);
  expect(toolkit.find('search')).toMatchObject({ name: 'search' });
});

test.for([
  ['updateGroups', (toolkit: Toolkit) => toolkit.updateGroups(['web', 'nope'], true)],
  ['setActiveGroups', (toolkit: Toolkit) => toolkit.setActiveGroups(['web', 'nope'])],
] as const)('%s() rejects an unknown group and changes nothing', ([, change]) => {
  const toolkit = kit();
  const before = toolkit.schemas();
  expect(() => change(toolkit)).toThrowError(failsWith('INVALID_INPUT', '"nope"'));
  expect(toolkit.activeGroups()).toEqual(['files']);
  expect(toolkit.schemas()).toBe(before);
});

test.for([
  ['a tool in an unknown group', () => new Toolkit([make('a', 'nope')]), '"nope"'],
  ['a second group of the same name', () => kit().createGroup(web), 'Two tool groups'],
  [
    'a group without a name',
    () => new Toolkit([], { groups: [{ name: ' ', description: '' }] }),
    'needs a name',
  ],
  ['a second tool of the same name', () => kit().add(make('free')), 'Two tools'],
  ['a tool with a group outside a toolkit', () => toolList([make('a', 'web')]), 'Toolkit'],
  [
    'a tool with the name of a tool in the set below',
    () => toolsBefore(kit(), [make('search')]),
    'Two tools',
  ],
  ['a meta tool outside a toolkit', () => toolList([metaTool()]), 'Toolkit'],
  ['a meta tool with an invalid name', () => metaTool({ name: 'a b' }), 'tool name'],
] as const)('rejects %s', ([, act, text]) => {
  expect(act).toThrowError(failsWith('CONFIGURATION', text));
});

test('a toolkit adds and removes tools, unless `allowDeletion` is false', () => {
  const toolkit = kit();
  toolkit.add(make('late'));
  toolkit.remove('free');
  expect(names(toolkit)).toEqual(['read', 'both', 'late']);
  expect(toolkit.find('free')).toBeUndefined();
  expect(() => toolkit.remove('free')).toThrowError(failsWith('INVALID_INPUT', '"free"'));
  const fixed = new Toolkit([make('a')], { allowDeletion: false });
  for (const one of [fixed, fixed.fork()])
    expect(() => one.remove('a')).toThrowError(failsWith('CONFIGURATION', 'deletion'));
  expect(names(fixed)).toEqual(['a']);
});

test('a fork and its original share no state', () => {
  const original = kit();
  original.add(
    tool({
      name: 'p',
      description: '',
      input: z.object({ a: z.string(), b: z.string() }),
      preset: { a: '1' },
    }),
  );
  const fork = original.fork();
  fork.setActiveGroups([]);
  fork.remove('free');
  fork.createGroup({ name: 'new', description: '' });
  fork.updatePreset('p', { b: '2' });
  original.add(make('late'));
  expect(original.activeGroups()).toEqual(['files']);
  expect(original.groups().map(({ name }) => name)).toEqual(['web', 'files']);
  expect(names(original)).toEqual(['free', 'read', 'both', 'p', 'late']);
  expect(names(fork)).toEqual(['p']);
  expect(original.schemas()[3]!.parameters['properties']).toHaveProperty('b');
  expect(fork.schemas()[0]!.parameters['properties']).toEqual({});
});

test('a fork starts with the current groups', () => {
  const original = kit();
  original.createGroup({ name: 'late', description: 'Created later' });
  original.setActiveGroups(['web', 'late']);
  expect(original.fork().groups()).toEqual(original.groups());
  expect(original.fork().activeGroups()).toEqual(['web', 'late']);
});

test('returns the same schemas while nothing changes, and a fork over another toolkit has its own groups', () => {
  const below = kit();
  const list = toolsBefore(below, [make('own')]);
  expect(names(list)).toEqual(['own', 'free', 'read', 'both']);
  expect(list.schemas()).toBe(list.schemas());
  list.setActiveGroups!(['web']);
  expect(names(list)).toEqual(['own', 'free', 'search', 'both']);
  expect(below.activeGroups()).toEqual(['web']);
  expect(list.activeGroups!()).toEqual(['web']);
  const fork = list.fork();
  fork.setActiveGroups!([]);
  expect([names(fork), names(list)]).toEqual([
    ['own', 'free'],
    ['own', 'free', 'search', 'both'],
  ]);
  expect(list.find('both')).toMatchObject({ name: 'both' });
  expect(list.find('read')).toMatch('not available');
});

test('a list of tools without groups has no group methods', () => {
  const list: ToolSet = toolList([make('a')]);
  expect(list.activeGroups).toBeUndefined();
  expect(list.setActiveGroups).toBeUndefined();
});

test('a run does not offer or execute an inactive tool, and each agent has its own active groups', async () => {
  const toolkit = kit();
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'search' }] }, 'done'], {
    tools: toolkit,
  });
  await agent.call('go');
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['free', 'read', 'both']);
  const [result] = model.requests[1]!.messages.flatMap(toolResultsOf);
  expect(result).toMatchObject({
    state: 'error',
    output: expect.stringContaining('not available: search') as unknown,
  });
  agent.tools.setActiveGroups!([]);
  expect(toolkit.activeGroups()).toEqual(['files']);
});

test('with the meta tool, the model switches the groups of its agent’s fork', async () => {
  const toolkit = kit();
  toolkit.add(metaTool());
  const { agent, model } = scriptedAgent(
    [
      { toolCalls: [{ name: 'switch_tool_groups', input: { groups: ['web'] } }] },
      { toolCalls: [{ name: 'search' }] },
      { toolCalls: [{ name: 'switch_tool_groups', input: { groups: ['web'], exactly: true } }] },
      { toolCalls: [{ name: 'switch_tool_groups', input: { groups: ['files', 'nope'] } }] },
      { toolCalls: [{ name: 'switch_tool_groups', input: { groups: [], exactly: true } }] },
      'done',
    ],
    { tools: toolkit },
  );
  await agent.call('go');
  const offered = model.requests.map(({ tools }) => tools.map(({ name }) => name).join());
  const meta = 'switch_tool_groups';
  expect(offered).toEqual([
    `free,read,both,${meta}`,
    `free,search,read,both,${meta}`,
    `free,search,read,both,${meta}`,
    `free,search,both,${meta}`,
    `free,search,both,${meta}`,
    `free,${meta}`,
  ]);
  const results = model.requests.at(-1)!.messages.flatMap(toolResultsOf);
  expect(results.map(({ output }) => output)).toEqual([
    'Active groups:\n- web: Searches the web\n- files: Reads files',
    'search',
    'Active groups:\n- web: Searches the web',
    expect.stringContaining('there is no group "nope"; there are: web, files'),
    'No group is active.',
  ]);
  expect(toolkit.activeGroups()).toEqual(['files']);
});

test.for([
  ['no groups', {}],
  ['a text', 'web'],
  ['groups that are not an array', { groups: 'web' }],
  ['a name that is not a text', { groups: [1] }],
  ['an invalid flag', { groups: [], exactly: 'yes' }],
] as const)('the meta tool rejects %s', async ([, input]) => {
  const toolkit = new Toolkit([metaTool()], { groups: [web] });
  const meta = toolkit.find('switch_tool_groups');
  expect(await (meta as ReturnType<typeof metaTool>).input.validate(input)).toMatchObject({
    ok: false,
  });
});

test('the schema of the meta tool names the existing groups', () => {
  const toolkit = new Toolkit([metaTool({ name: 'groups' })]);
  const items = () =>
    (toolkit.schemas()[0]!.parameters['properties'] as { groups: { items: unknown } }).groups.items;
  expect(items()).toEqual({ type: 'string' });
  toolkit.createGroup(web);
  const fork = toolkit.fork();
  fork.createGroup(files);
  expect(items()).toEqual({ type: 'string', enum: ['web'] });
  expect(toolkit.schemas()[0]!.description).toContain('- web: Searches the web');
  expect(fork.schemas()[0]).toMatchObject({
    name: 'groups',
    description: expect.stringContaining('files') as unknown,
  });
});

test('the context of a toolkit reaches its tools, also in forks', async () => {
  const user = contextToken<string>('user');
  const who = tool({ name: 'who', description: '', input: {}, execute: (_, ctx) => ctx.get(user) });
  const toolkit = new Toolkit([who], { toolContext: [provide(user, 'Ann')] });
  const tools = toolsBefore(toolkit, [make('other')]).fork();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'who' }] }, 'done']);
  await new ReActAgent({ name: 'a', model, tools }).call('go');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)[0]).toMatchObject({ output: 'Ann' });
});

test('the context of a toolkit may be an iterator that can be read only once', async () => {
  const user = contextToken<string>('user');
  const who = tool({ name: 'who', description: '', input: {}, execute: (_, ctx) => ctx.get(user) });
  const toolkit = new Toolkit([who], { toolContext: [provide(user, 'Ann')].values() });
  for (const name of ['a', 'b']) {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'who' }] }, 'done']);
    await new ReActAgent({ name, model, tools: toolkit }).call('go', { allowTools: ['who'] });
    expect(model.requests[1]!.messages.flatMap(toolResultsOf)[0]).toMatchObject({ output: 'Ann' });
  }
});

test('a removed tool is no longer offered', () => {
  const toolkit = kit();
  expect(names(toolkit)).toContain('free');
  toolkit.remove('free');
  expect(names(toolkit)).toEqual(['read', 'both']);
});

test('a tool without a fork() method is shared by forks and takes no preset', () => {
  const { name, input, schema } = make('plain');
  const toolkit = new Toolkit([{ name, input, schema }]);
  expect(names(toolkit.fork())).toEqual(['plain']);
  expect(() => toolkit.updatePreset('plain', {})).toThrowError(
    failsWith('CONFIGURATION', 'takes no preset arguments'),
  );
});

test('the meta tool takes no preset, and a preset must be an object', () => {
  const toolkit = new Toolkit([metaTool(), make('a')]);
  expect(() => toolkit.updatePreset('switch_tool_groups', {})).toThrowError(
    failsWith('CONFIGURATION', 'takes no preset arguments'),
  );
  expect(() => toolkit.updatePreset('a', undefined as unknown as {})).toThrowError(
    failsWith('INVALID_INPUT', 'updatePreset()'),
  );
});

test('the error for an unknown group lists the groups', () => {
  expect(() => kit().setActiveGroups(['x', 'y'])).toThrowError(
    failsWith('INVALID_INPUT', '"x". There are: web, files.'),
  );
  expect(() => new Toolkit().setActiveGroups(['x'])).toThrowError(
    failsWith('INVALID_INPUT', 'There are: none.'),
  );
});

test('the meta tool has a description and parameters for the model, and is safe to replay', () => {
  const free = metaTool();
  expect(free.schema.description).toBe('Switches groups of tools on. Groups:\nnone');
  expect(free.replay).toBe('safe');
  const { schema } = new Toolkit([free], { groups: [web, files] }).find(
    'switch_tool_groups',
  ) as Tool;
  expect(schema).toMatchObject({
    description:
      'Switches groups of tools on. Groups:\n- web: Searches the web\n- files: Reads files',
    parameters: {
      type: 'object',
      properties: {
        groups: {
          type: 'array',
          items: { type: 'string', enum: ['web', 'files'] },
          description: expect.any(String) as unknown,
        },
        exactly: { type: 'boolean', description: expect.any(String) as unknown },
      },
      required: ['groups'],
      additionalProperties: false,
    },
  });
});

test.for([
  ['null', [web], 'groups: an array of group names'],
  [{ groups: 'web' }, [web], 'groups: an array of group names'],
  [{ groups: [], exactly: 1 }, [web], 'exactly: true or false'],
  [{ groups: ['x'] }, [web], 'there is no group "x"; there are: web'],
  [{ groups: ['x'] }, [], 'there is no group "x"; there are: none'],
  [{ groups: ['web'], exactly: null }, [web], 'Active groups:'],
] as const)('the meta tool answers the input %j', async ([input, groups, words]) => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'switch_tool_groups', input }] }, 'done']);
  await new ReActAgent({ name: 'a', model, tools: new Toolkit([metaTool()], { groups }) }).call(
    'go',
  );
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)[0]!.output).toContain(words);
});

test('the error result for a call without any tools says that there are none', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'x' }] }, 'done']);
  await new ReActAgent({ name: 'a', model }).call('go');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf)[0]!.output).toContain(
    'Available: none.',
  );
});
