import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { codeBlocks } from '../../scripts/code-blocks.ts';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';

test.for(findFiles('packages/*/README.md'))('%s has at most 120 lines', (path) => {
  expect(readFileSync(`${root}/${path}`, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(
    120,
  );
});

/** Named code blocks of the READMEs. `test/docs/code.test.ts` compiles them. */
const namedBlocks: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['worker.ts', 'page.ts', 'agent.ts'],
  'packages/web-worker/README.md': ['worker.ts', 'page.ts', 'chat.tsx'],
  'packages/edge/README.md': ['worker.ts'],
};

test.for(Object.entries(namedBlocks))('%s has its named code blocks', ([path, files]) => {
  expect(codeBlocks(path).map(({ file }) => file)).toEqual(files);
});

test.for(['vue', 'svelte'])('the recipe for %s has at most 15 lines', (language) => {
  const [block] = codeBlocks('docs/guides/vue-and-svelte.md', language);
  expect(block?.source.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
});

test.for(['docs/start.md', 'docs/zh/start.md'])(
  '%s installs the packages with the line of the README',
  (page) => {
    const lineOf = (path: string) =>
      /^npm --prefix .* run add$/m.exec(readFileSync(`${root}/${path}`, 'utf8'))?.[0];
    expect(lineOf(page)).toBe(lineOf('README.md'));
  },
);
