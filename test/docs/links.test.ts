import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findFiles } from '../../scripts/find-files.ts';
import { brokenLinksOf } from '../../scripts/markdown-links.ts';
import { root } from '../../scripts/root.ts';

const files = findFiles(['*.md', 'docs/**/*.md', '{bench,demo}/*.md', 'packages/*/README.md']);

test.each(files)('each link of %s leads to a file and a heading', (file) => {
  expect(brokenLinksOf(file)).toEqual([]);
});

test('a link to a missing file or heading is found', () => {
  const pages: Readonly<Record<string, string>> = {
    'docs/a.md': '# One\n\n[1](#one) [2](#two) [3](../b.md#its-top) [4](b.md) [5](https://x.y/z)\n',
    'b.md': '# It’s top\n\n# Its top\n\n```sh\n# code\n```\n',
  };
  expect(brokenLinksOf('docs/a.md', (path) => pages[path])).toEqual(['#two', 'b.md']);
  expect(brokenLinksOf('c.md', () => '```md\n[1](x.md)\n```\n')).toEqual([]);
});

test('the index lists each page of docs, and the first README links to the index', () => {
  const index = readFileSync(`${root}/docs/README.md`, 'utf8');
  const pages = findFiles('**/*.md', { folder: `${root}/docs` });
  // The Chinese pages have an index of their own: see translations.test.ts.
  const listed = pages.filter((page) => page !== 'README.md' && !/^zh\/(?!README)/.test(page));
  expect(listed.filter((page) => !index.includes(`](${page})`))).toEqual([]);
  expect(readFileSync(`${root}/README.md`, 'utf8')).toContain('](docs/README.md)');
});

test('each test that the page of servers names exists', () => {
  const page = readFileSync(`${root}/docs/reference/servers.md`, 'utf8');
  const names = [...page.matchAll(/`([\w.-]+\.test\.ts)`/g)].map(([, name]) => name);
  const tests = new Set(
    findFiles('{packages/*/src,test}/**/*.test.ts').map((path) => path.split('/').at(-1)),
  );
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name) => !tests.has(name))).toEqual([]);
});
