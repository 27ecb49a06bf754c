import { expect, test } from 'vitest';
import { tool } from '../tool.ts';
import { allowTools } from './tool-set.ts';
import { Toolkit } from './toolkit.ts';

const named = (name: string, groups: readonly string[] = []) =>
  tool({ name, description: '', input: {}, group: groups, execute: () => name });

test('a view of a toolkit keeps its groups, and returns the same array until the tools change', () => {
  const groups = [{ name: 'mail', description: 'Mail', active: false }];
  const toolkit = new Toolkit([named('send', ['mail']), named('look'), named('pay')], { groups });
  const view = allowTools(toolkit, ['send', 'look']);
  const first = view.schemas();
  expect(first.map(({ name }) => name)).toEqual(['look']);
  expect(view.schemas()).toBe(first);
  expect(view.activeGroups?.()).toEqual([]);
  view.setActiveGroups?.(['mail']);
  expect(view.schemas().map(({ name }) => name)).toEqual(['send', 'look']);
  expect(view.find('pay')).toBe('Tool not allowed: pay.');
});
