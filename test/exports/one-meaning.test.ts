import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';

/** An exported declaration. Re-exports have none, so an entry does not count. */
const declaration =
  /^export (?:abstract |async )*(?:class|const|function\*?|interface|let|type) (\w+)/gm;

/** Returns a line for each name that several files declare and export. */
function pairsIn(sources: ReadonlyMap<string, string>): readonly string[] {
  const pathsByName = new Map<string, Set<string>>();
  for (const [path, source] of sources)
    for (const [, name = ''] of source.matchAll(declaration))
      pathsByName.set(name, (pathsByName.get(name) ?? new Set()).add(path));
  return [...pathsByName]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `${name}: ${[...paths].join(', ')}`);
}

test('an exported name has one meaning in all packages', () => {
  const paths = findFiles(['packages/*/src/**/*.{ts,tsx}'], { exclude: ['**/*.test.ts'] });
  expect(paths.length).toBeGreaterThan(500);
  const sources = new Map(paths.map((path) => [path, readFileSync(`${root}/${path}`, 'utf8')]));
  // Rename one of the two, so that a reader and a search find one thing.
  expect(pairsIn(sources)).toEqual([]);
});

test('the check finds a name that two files export, and leaves out overloads and re-exports', () => {
  const overloads = 'export function a(x: 1): void;\nexport function a(x: 2): void;';
  const sources = new Map([
    ['one.ts', overloads],
    ['two.ts', "export { a } from './one.ts';\nexport abstract class B {}"],
    ['three.ts', 'export type B = string;\nconst a = 1;'],
  ]);
  expect(pairsIn(sources)).toEqual(['B: two.ts, three.ts']);
});
