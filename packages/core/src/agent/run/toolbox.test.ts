import { expect, test } from 'vitest';
import { tool, type Tool } from '../../tool/tool.ts';
import { liveRun } from '@test/support/live-run.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';

const named = (name: string): Tool =>
  tool({ name, description: name, input: { type: 'object' }, execute: () => 'ok' });
const namesIn = (list: readonly { readonly name: string }[]): readonly string[] =>
  list.map(({ name }) => name);

test('tools of middleware come before those of the agent, and later ones before both', () => {
  const { tools } = liveRun({ tools: [named('own')], use: [{ tools: [named('part')] }] }).live;
  tools.add([named('late')]);
  expect(namesIn(tools.schemas)).toEqual(['late', 'part', 'own']);
  expect(namesIn(tools.added)).toEqual(['late', 'part']);
});

test('add() refuses a second tool of one name, and adds nothing then', () => {
  const { tools } = liveRun({ tools: [named('own')] }).live;
  expect(() => tools.add([named('own')])).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  expect(namesIn(tools.added)).toEqual([]);
});

test('a model without tools gets no schema, and the run still has the tools', () => {
  const model = new ScriptedModel([], { features: { tools: false } });
  const { tools } = liveRun({ model, tools: [named('own')] }).live;
  expect(tools.schemas).toEqual([]);
  expect(tools.current.find('own')).toBeDefined();
});

test('what a run adds stays in this run', () => {
  const { live } = liveRun({ tools: [named('own')] });
  live.tools.add([named('late')]);
  expect(namesIn(live.setup.tools.schemas())).toEqual(['own']);
});
