import { expect, test } from 'vitest';
import { fullLevels, addToLevels } from './stored-head.ts';

test('the head stays small, and all batches are found in few rounds of reads', () => {
  const width = 4;
  const carried = new Map<string, readonly string[]>();
  let levels: readonly (readonly string[])[] = [];
  for (let n = 1; n <= 2000; n++) {
    const index = fullLevels(levels, width);
    carried.set(String(n), index);
    levels = addToLevels(levels, index, String(n));
    expect(levels.flat().length).toBeLessThanOrEqual(width * levels.length);
    expect(index.length).toBeLessThanOrEqual(width * levels.length);
  }
  expect(levels.length).toBe(5);

  const found: number[] = [];
  let rounds = 0;
  for (
    let wanted = levels.flat();
    wanted.length > 0;
    wanted = wanted.flatMap((ref) => carried.get(ref) ?? [])
  ) {
    found.push(...wanted.map(Number));
    rounds++;
  }
  expect(found.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2000 }, (_, n) => n + 1));
  expect(rounds).toBeLessThanOrEqual(levels.length);
});

test('a batch that replaces a level moves into the next level, and another batch is added to the lowest level', () => {
  const levels = [['c', 'd'], [], ['a', 'b']];
  expect(addToLevels([], [], 'x')).toEqual([['x']]);
  expect(addToLevels(levels, [], 'x')).toEqual([['c', 'd', 'x'], [], ['a', 'b']]);
  expect(addToLevels(levels, ['c', 'd', 'earlier'], 'x')).toEqual([[], ['x'], ['a', 'b']]);
  expect(addToLevels(levels, ['a', 'b', 'c', 'd'], 'x')).toEqual([[], [], [], ['x']]);
});
