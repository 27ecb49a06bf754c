import { expect, test } from 'vitest';
import { definePreset, withDefaults, flatList } from './use-list.ts';
import { kernelDefaults } from './kernel-options.ts';
import type { Middleware, UseList } from './middleware.ts';

const part = (name: string, mark: string): Middleware => ({
  name,
  defaults: { recoveryMessage: mark },
});
const marks = (parts: readonly Middleware[]): readonly string[] =>
  parts.map(({ defaults }) => defaults?.recoveryMessage ?? 'none');

test('flatList() replaces a nested list with its parts in place', () => {
  const use = [part('a', 'a'), [part('b', 'b'), [part('c', 'c')]], part('d', 'd')];
  expect(marks(flatList(use))).toEqual(['a', 'b', 'c', 'd']);
});

test('a later part replaces a preset’s part of the same name', () => {
  const preset = [part('retry', 'preset'), part('guard', 'guard')];
  expect(marks(flatList([preset, part('retry', 'own')]))).toEqual(['own', 'guard']);
  expect(marks(flatList([preset, [part('retry', 'other preset')]]))).toEqual([
    'other preset',
    'guard',
  ]);
});

test('an entry with only a name removes the preset’s part of that name', () => {
  expect(marks(flatList([[part('retry', 'preset')], { name: 'retry' }]))).toEqual(['none']);
});

test('a later part replaces a part of a spread preset, also a part of another preset', () => {
  const preset = (): readonly Middleware[] =>
    definePreset([part('retry', 'preset'), part('x', 'x')]);
  expect(marks(flatList([...preset(), part('retry', 'own')]))).toEqual(['own', 'x']);
  expect(marks(flatList([...preset(), [part('retry', 'nested')]]))).toEqual(['nested', 'x']);
  const other = definePreset([part('retry', 'other')]);
  expect(marks(flatList([...preset(), ...other]))).toEqual(['other', 'x']);
  expect(marks(flatList([[...preset()], ...other, part('retry', 'own')]))).toEqual(['own', 'x']);
  expect(marks(flatList([...preset(), { name: 'retry' }]))).toEqual(['none', 'x']);
});

const own = [part('limit', 'one'), part('limit', 'two')];

test.each<[string, UseList]>([
  ['in the list', own],
  ['in the list, after a preset', [[part('limit', 'preset')], ...own]],
  ['in one nested list', [own]],
  ['before a nested preset', [part('limit', 'own'), [part('limit', 'preset')]]],
  ['before a spread preset', [part('limit', 'own'), ...definePreset([part('limit', 'preset')])]],
])('two parts of one name are rejected: %s', (_where, use) => {
  const message = `Two middleware in \`use\` are named "limit". Remove one, or give one another name: { ...it, name: 'other' }.`;
  expect(() => flatList(use)).toThrow(expect.objectContaining({ code: 'CONFIGURATION', message }));
});

test('parts of a nested list are not marked for other lists', () => {
  const shared = part('limit', 'shared');
  flatList([[shared]]);
  expect(() => flatList([shared, part('limit', 'own')])).toThrow(
    'Two middleware in `use` are named "limit"',
  );
});

test('parts without a name are all kept, also one part that is listed twice', () => {
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

test('a later part in a nested list replaces a part of a list inside it', () => {
  expect(marks(flatList([[[part('retry', 'inner')], part('retry', 'outer')]]))).toEqual(['outer']);
});
