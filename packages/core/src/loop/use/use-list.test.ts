import { expect, test } from 'vitest';
import { defaultsOf, partsOf, withDefaults } from './use-list.ts';
import type { Middleware } from './middleware.ts';

const part = (name: string, mark: string): Middleware => ({
  name,
  defaults: { recoveryMessage: mark },
});
const marks = (parts: readonly Middleware[]): readonly string[] =>
  parts.map(({ defaults }) => defaults?.recoveryMessage ?? 'none');

test('partsOf() replaces a nested list with its parts in place', () => {
  const use = [part('a', 'a'), [part('b', 'b'), [part('c', 'c')]], part('d', 'd')];
  expect(marks(partsOf(use))).toEqual(['a', 'b', 'c', 'd']);
});

test('a later part replaces a preset’s part of the same name', () => {
  const preset = [part('retry', 'preset'), part('guard', 'guard')];
  expect(marks(partsOf([preset, part('retry', 'own')]))).toEqual(['own', 'guard']);
  expect(marks(partsOf([preset, [part('retry', 'other preset')]]))).toEqual([
    'other preset',
    'guard',
  ]);
});

test('an entry with only a name removes the preset’s part of that name', () => {
  expect(marks(partsOf([[part('retry', 'preset')], { name: 'retry' }]))).toEqual(['none']);
});

test('all parts that are listed directly are kept, also after a preset', () => {
  const own = [part('limit', 'one'), part('limit', 'two')];
  expect(marks(partsOf(own))).toEqual(['one', 'two']);
  expect(marks(partsOf([[part('limit', 'preset')], ...own]))).toEqual(['one', 'two']);
  expect(marks(partsOf([part('limit', 'own'), [part('limit', 'preset')]]))).toEqual([
    'own',
    'preset',
  ]);
});

test('the agent’s options override a later preset, which overrides an earlier preset', () => {
  const earlier: Middleware = {
    defaults: {
      limits: { iterations: 1, toolCalls: 1, tokens: 1 },
      generate: { temperature: 1, maxTokens: 1 },
      recoveryMessage: 'earlier',
      preCall: 'notification',
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
  expect(withDefaults(options as object, defaultsOf([earlier, later]))).toEqual({
    limits: { iterations: 1, toolCalls: 2, tokens: 3 },
    generate: { temperature: 1, maxTokens: 2 },
    recoveryMessage: 'later',
    preCall: 'notification',
  });
});

test('two parts with the same name in one nested list are both kept', () => {
  const team = [part('guard', 'one'), part('guard', 'two')];
  expect(marks(partsOf([team]))).toEqual(['one', 'two']);
  expect(marks(partsOf([[[part('retry', 'inner')], part('retry', 'outer')]]))).toEqual(['outer']);
});
