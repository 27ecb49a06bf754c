import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { findFiles } from '../../scripts/find-files.ts';
import { moduleImports } from '../../scripts/module-imports.ts';
import { root } from '../../scripts/root.ts';

// In `npm run test:long`, workerd and a page also run the tests of core, except `*.node.test.ts`.

/** Files that tests of core may import and that are no source of a package. */
const isOfTests = (path: string): boolean => /^test\/.*\.ts$/.test(path);

const found = new Map<string, readonly string[]>();

/** Returns the Node modules that a test or its support imports, each with the file that does. */
function nodeImports(path: string): readonly string[] {
  const known = found.get(path);
  if (known) return known;
  // Two files may import each other.
  found.set(path, []);
  const source = readFileSync(`${root}/${path}`, 'utf8');
  const values = moduleImports(path, source).filter(({ typeOnly }) => !typeOnly);
  const imports = values.flatMap(({ specifier }) => {
    if (specifier.startsWith('node:')) return [`${path} imports ${specifier}`];
    const target = posix.join(posix.dirname(path), specifier);
    const isFollowed = specifier.startsWith('.') && isOfTests(target);
    return isFollowed ? nodeImports(target) : [];
  });
  found.set(path, imports);
  return imports;
}

const coreTests = findFiles([
  'packages/{core,guards,presets,recall,mcp}/src/**/*.test.ts',
  'test/scenarios/**/*.test.ts',
]);
const isNodeOnly = (path: string): boolean => path.endsWith('.node.test.ts');

test('a test of core that uses Node’s API is named *.node.test.ts', () => {
  const wrong = coreTests
    .filter((path) => !isNodeOnly(path))
    .flatMap((path) => nodeImports(path).map((reason) => `${path}: ${reason}`));
  expect(wrong).toEqual([]);
});

test('the search finds imports of Node in a test and in its support', () => {
  const reasons = coreTests.filter(isNodeOnly).flatMap((path) => nodeImports(path));
  expect(reasons.join('\n')).toMatch(/test\/support\/\S+\.ts imports node:/);
});
