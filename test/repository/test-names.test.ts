import { expect, test } from 'vitest';
import { findFiles } from '../../scripts/find-files.ts';

const testEnd = /(?:\.(?:engine|node))?\.test\.tsx?$/;

/**
 * Returns the tests that have no source of their name beside them. A test of a part of a long
 * source may add the part to the name: `fallback-streams.test.ts`. Tests in a folder `scenarios`
 * are about several files.
 */
function testsWithoutSource(paths: readonly string[]): readonly string[] {
  const sources = paths
    .filter((path) => !testEnd.test(path))
    .map((path) => path.replace(/\.tsx?$/, ''));
  const known = new Set(sources);
  return paths.filter((path) => {
    if (!testEnd.test(path) || path.includes('/scenarios/')) return false;
    const name = path.replace(testEnd, '');
    return !beginningsOf(name).some((beginning) => known.has(beginning));
  });
}

/** Returns a path, and the path without the last words of its file's name. */
function beginningsOf(name: string): readonly string[] {
  const slash = name.lastIndexOf('/');
  const ends = [...name.matchAll(/-/g)].map(({ index }) => index).filter((end) => end > slash);
  return [name, ...ends.map((end) => name.slice(0, end))];
}

test('a test of a package has the name of a source beside it, or stands among scenarios', () => {
  const paths = findFiles('packages/*/src/**/*.{ts,tsx}');
  expect(paths.length).toBeGreaterThan(1_000);
  // Name it after its source, or move it to `scenarios`: docs/contributing/tests.md.
  expect(testsWithoutSource(paths)).toEqual([]);
});

test('the check finds a test without a source of its name', () => {
  const folder = 'packages/a/src/limits';
  const sources = ['call-limit.ts', 'semaphore.tsx'].map((name) => `${folder}/${name}`);
  const named = [
    'call-limit.test.ts',
    'call-limit.engine.test.ts',
    'call-limit.node.test.ts',
    'call-limit-after-resume.test.ts',
    'semaphore.test.tsx',
    'scenarios/any.test.ts',
  ];
  const wrong = ['calls.test.ts', 'call.test.ts', 'limits/call-limit.test.ts', 'limit.test.ts'];
  const found = testsWithoutSource([
    ...sources,
    ...[...named, ...wrong].map((name) => `${folder}/${name}`),
  ]);
  expect(found).toEqual(wrong.map((name) => `${folder}/${name}`));
});
