import { expect, test } from 'vitest';
import * as z from 'zod';
import type { ToolUse } from '../../message/msg.ts';
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

test('prepare() names the problem: an unknown tool, a schema that throws, middleware that is missing', async () => {
  const input = z.object({ sum: z.number() });
  const pay = tool({ name: 'pay', description: 'Pays.', input, execute: () => 'paid' });
  const callOf = (name: string): ToolUse => ({
    type: 'tool_use',
    id: 'x',
    name,
    input: { sum: 1 },
  });
  const fail = (): never => {
    throw new Error('bad schema');
  };
  const broken = { ...pay, name: 'broken', input: { ...pay.input, validate: fail } };
  const needy = { ...pay, name: 'needy', requires: ['steering'] };
  const { tools } = liveRun({ tools: [pay, broken, needy] }).live;
  const problemOf = async (name: string): Promise<unknown> =>
    (await tools.prepare(callOf(name))) as unknown;
  expect(await problemOf('gone')).toMatchObject({ ok: false });
  expect(await problemOf('broken')).toMatchObject({ ok: false, problem: 'bad schema' });
  expect(await problemOf('needy')).toMatchObject({
    ok: false,
    problem: expect.stringContaining('needs the middleware "steering"') as string,
  });
  expect(await problemOf('pay')).toMatchObject({ ok: true });
});
