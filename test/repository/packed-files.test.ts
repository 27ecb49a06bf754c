import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packageProblems, withCompleteLinks } from '../../scripts/packed-files.ts';

const manifest = {
  description: 'd',
  keywords: ['k'],
  license: 'Apache-2.0',
  engines: { node: '>=20' },
  exports: {},
};
const good = {
  'package.json': JSON.stringify(manifest),
  'README.md': '# A package\n\n## In short\n\n[Short](#in-short), [site](https://example.com)\n',
  LICENSE: '',
  'dist/index.js': '',
  'dist/index.js.map': JSON.stringify({ sources: ['../src/index.ts'] }),
  'src/index.ts': '',
};

function problemsOf(files: Readonly<Record<string, string>>): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'isoloop-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return packageProblems(folder);
}

test('a package with all files and fields has no problems', () => {
  expect(problemsOf(good)).toEqual([]);
});

test.for([
  [
    'a link out of the package',
    { 'README.md': '[core](../core/README.md#tools)' },
    'README.md has the link ../core/README.md#tools',
  ],
  [
    'a link to a file of the package',
    { 'README.md': '[more](MORE.md)' },
    'README.md has the link MORE.md',
  ],
  ['a heading that does not exist', { 'README.md': '# A\n\n[b](#b)' }, 'README.md has the link #b'],
  [
    'a source map without its source',
    { 'dist/index.js.map': '{"sources":["../src/a.ts"]}' },
    'dist/index.js.map names ../src/a.ts, which is not in the package',
  ],
  ['a module without a source map', { 'dist/a.d.ts': '' }, 'there is no dist/a.d.ts.map'],
  ['a test', { 'src/index.test.ts': '' }, 'src/index.test.ts is only for the repository'],
  [
    'the compiler’s state',
    { 'dist/.tsbuildinfo': '' },
    'dist/.tsbuildinfo is only for the repository',
  ],
  [
    'no keywords',
    { 'package.json': JSON.stringify({ ...manifest, keywords: undefined }) },
    'package.json has no "keywords"',
  ],
] as const)('the check of a packed package reports %s', ([, files, problem]) => {
  expect(problemsOf({ ...good, ...files })).toEqual([problem]);
});

test('a link of a README to the repository is fine, because a release completes it', () => {
  const readme = '[Start](../../docs/start.md#in-node)\n';
  expect(problemsOf({ ...good, 'README.md': readme })).toEqual([]);
  expect(withCompleteLinks(readme, 'https://example.com/me/repo')).toBe(
    '[Start](https://example.com/me/repo/blob/main/docs/start.md#in-node)\n',
  );
});

test('a source map may contain its sources', () => {
  const map = JSON.stringify({ sources: ['a.ts'], sourcesContent: [''] });
  expect(problemsOf({ ...good, 'dist/index.js.map': map })).toEqual([]);
});
