import { expect, test } from 'vitest';
import { definePreset, withDefaults, flatList } from './use-list.ts';
import { kernelDefaults } from './kernel-options.ts';
import type { Middleware, UseList } from './middleware.ts';

const named = (name: string, mark: string): Middleware => ({
  name,
  defaults: { recoveryMessage: mark },
});
const marks = (use: readonly Middleware[]): readonly string[] =>
  use.map(({ defaults }) => defaults?.recoveryMessage ?? 'none');

test('flatList() replaces a nested list with its middleware in place', () => {
  const use = [named('a', 'a'), [named('b', 'b'), [named('c', 'c')]], named('d', 'd')];
  expect(marks(flatList(use))).toEqual(['a', 'b', 'c', 'd']);
});

test('later middleware replaces that of a preset with the same name', () => {
  const preset = [named('retry', 'preset'), named('guard', 'guard')];
  expect(marks(flatList([preset, named('retry', 'own')]))).toEqual(['own', 'guard']);
  expect(marks(flatList([preset, [named('retry', 'other preset')]]))).toEqual([
    'other preset',
    'guard',
  ]);
});

test('an entry with only a name removes the preset’s middleware of that name', () => {
  expect(marks(flatList([[named('retry', 'preset')], { name: 'retry' }]))).toEqual(['none']);
});

test('later middleware replaces that of a spread preset, also of another preset', () => {
  const preset = (): readonly Middleware[] =>
    definePreset([named('retry', 'preset'), named('x', 'x')]);
  expect(marks(flatList([...preset(), named('retry', 'own')]))).toEqual(['own', 'x']);
  expect(marks(flatList([...preset(), [named('retry', 'nested')]]))).toEqual(['nested', 'x']);
  const other = definePreset([named('retry', 'other')]);
  expect(marks(flatList([...preset(), ...other]))).toEqual(['other', 'x']);
  expect(marks(flatList([[...preset()], ...other, named('retry', 'own')]))).toEqual(['own', 'x']);
  expect(marks(flatList([...preset(), { name: 'retry' }]))).toEqual(['none', 'x']);
});

const own = [named('limit', 'one'), named('limit', 'two')];

test.each<[string, UseList]>([
  ['in the list', own],
  ['in the list, after a preset', [[named('limit', 'preset')], ...own]],
  ['in one nested list', [own]],
  ['before a nested preset', [named('limit', 'own'), [named('limit', 'preset')]]],
  ['before a spread preset', [named('limit', 'own'), ...definePreset([named('limit', 'preset')])]],
])('two middleware of one name are rejected: %s', (_where, use) => {
  const message = `Two middleware in \`use\` are named "limit". Remove one, or give one another name: { ...it, name: 'other' }.`;
  expect(() => flatList(use)).toThrow(expect.objectContaining({ code: 'CONFIGURATION', message }));
});

test('middleware of a nested list is not marked for other lists', () => {
  const shared = named('limit', 'shared');
  flatList([[shared]]);
  expect(() => flatList([shared, named('limit', 'own')])).toThrow(
    'Two middleware in `use` are named "limit"',
  );
});

test('middleware without a name is all kept, also one that is listed twice', () => {
  const unnamed: Middleware = { defaults: { recoveryMessage: 'mine' } };
  expect(marks(flatList([unnamed, [unnamed], unnamed]))).toEqual(['mine', 'mine', 'mine']);
});

test('the agent’s options override a later preset, which overrides an earlier preset', () => {
  const earlier: Middleware = {
    defaults: {
      limits: { iterations: 1, toolCalls: 1, tokens: 1 },
      generate: { temperature: 1, maxTokens: 1 },
      recoveryMessage: 'earlier',
      presetPriority: 'model',
    },
  };
  const later: Middleware = {
    defaults: {
      limits: { toolCalls: 2, tokens: 2 },
      generate: { maxTokens: 2 },
      recoveryMessage: 'later',
    },
  };
  const options = { limits: { tokens: 3 }, recoveryMessage: undefined };
  expect(withDefaults(options as never, [earlier, later])).toEqual({
    ...kernelDefaults,
    limits: { ...kernelDefaults.limits, iterations: 1, toolCalls: 2, tokens: 3 },
    generate: { temperature: 1, maxTokens: 2 },
    recoveryMessage: 'later',
    presetPriority: 'model',
  });
});

test('later middleware in a nested list replaces that of a list inside it', () => {
  expect(marks(flatList([[[named('retry', 'inner')], named('retry', 'outer')]]))).toEqual([
    'outer',
  ]);
});
