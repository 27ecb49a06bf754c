import { expect, test } from 'vitest';
import { toolResultsOf } from '../../message/msg.ts';
import { contextToken, provide } from '../context-token.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { joinTools } from './join-tools.ts';
import { tool, type Tool } from '../tool.ts';
import type { ToolSet } from './tool-set.ts';
import { Toolkit } from './toolkit.ts';

function named(name: string, says = name): Tool {
  return tool({ name, description: '', input: { type: 'object' }, execute: () => says });
}

/** Returns a set of tools that can change, like those of a server. */
function changing(...first: readonly Tool[]) {
  let tools = first;
  let schemas = tools.map(({ schema }) => schema);
  const set: ToolSet = {
    find: (name) => tools.find((one) => one.name === name),
    schemas: () => schemas,
    fork: () => set,
  };
  const change = (...next: readonly Tool[]): void => {
    tools = next;
    schemas = next.map(({ schema }) => schema);
  };
  return { set, change };
}

const namesOf = (set: ToolSet): readonly string[] => set.schemas().map(({ name }) => name);

test('contains the tools of all sources in order, and follows a source that changes, even in an agent’s fork', async () => {
  const server = changing(named('s1'));
  const joined = joinTools([named('a')], server.set, [named('b')]);
  expect(namesOf(joined)).toEqual(['a', 's1', 'b']);
  expect(joined.schemas()).toBe(joined.schemas());
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'a' }, { name: 's2' }] }, 'done'], {
    tools: joined,
  });
  server.change(named('s2'));
  expect(namesOf(joined)).toEqual(['a', 's2', 'b']);
  await agent.call('Go');
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    'a',
    's2',
  ]);
});

test('a tool that a source adds later does not replace an earlier one, not even an inactive one', () => {
  const server = changing();
  const off = tool({ name: 'off', description: '', input: {}, group: 'g', execute: () => 'own' });
  const joined = joinTools(
    new Toolkit([named('a', 'own'), off], {
      groups: [{ name: 'g', description: '', active: false }],
    }),
    server.set,
  );
  server.change(named('a', 'theirs'), named('off', 'theirs'), named('c'));
  expect(namesOf(joined)).toEqual(['a', 'c']);
  expect((joined.find('a') as Tool).execute!({}, {} as never)).toBe('own');
  expect(joined.find('off')).toContain('Tool not available: off.');
  expect(joined.find('nothing')).toBeUndefined();
});

test('has the groups and the context of its sources, and a fork has its own groups', () => {
  const token = contextToken<number>('n');
  const kit = new Toolkit([tool({ name: 'x', description: '', input: {}, group: 'g' })], {
    groups: [{ name: 'g', description: '' }],
    toolContext: [provide(token, 1)],
  });
  const joined = joinTools([named('a')], kit);
  expect(joined.activeGroups?.()).toEqual(['g']);
  const fork = joined.fork();
  joined.setActiveGroups?.([]);
  expect(namesOf(joined)).toEqual(['a']);
  expect(namesOf(fork)).toEqual(['a', 'x']);
  expect([...(fork.toolContext ?? [])]).toEqual([[token, 1]]);
  expect(joinTools([named('a')]).activeGroups).toBeUndefined();
});

test.each<[make: () => unknown, words: string]>([
  [() => joinTools([named('a')], [named('a')]), 'Two tools are named "a". Give one another name.'],
  [
    () => joinTools(new Toolkit(), new Toolkit()),
    'Only one source of tools can have groups. Put the tools with groups into one Toolkit.',
  ],
  [() => joinTools(7 as never), 'joinTools(): source must be an array or a Toolkit'],
  [() => joinTools({} as never), 'joinTools(): source must be an array or a Toolkit'],
])('joinTools() rejects invalid sources: %s', (make, words) => {
  expect(make).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(words) }),
  );
});
