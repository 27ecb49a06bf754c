import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { codeBlocks } from '../scripts/code-blocks.ts';
import { root } from '../scripts/root.ts';

/** Named code blocks of the READMEs. `test/docs-code.test.ts` compiles them. */
const namedBlocks: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['worker.ts', 'page.ts', 'agent.ts'],
  'packages/web-worker/README.md': [
    'worker.ts',
    'page.ts',
    'chat.tsx',
    'forecast-worker.ts',
    'forecast-chat.tsx',
    'endpoint-chat.tsx',
    'invoice-form.tsx',
    'sdk-chat.tsx',
    'agent.ts',
    'endpoint.ts',
    'page-parts.ts',
    'page-parts-worker.ts',
    'invoice-worker.ts',
    'invoice-page.ts',
    'watch.ts',
    'shared-worker.ts',
    'sessions.ts',
    'moves.ts',
    'moving-chat.tsx',
    'inspect.ts',
  ],
  'packages/edge/README.md': [
    'worker.ts',
    'page.tsx',
    'mounted-worker.ts',
    'node-server.ts',
    'agent-with-facts.ts',
    'last-messages.ts',
    'movable.ts',
    'operator.ts',
    'client.ts',
    'responses-client.ts',
    'page-model-worker.ts',
    'fetching-worker.ts',
  ],
};

test.for(Object.entries(namedBlocks))('%s has its named code blocks', ([path, files]) => {
  expect(codeBlocks(path).map(({ file }) => file)).toEqual(files);
});

test.for(['vue', 'svelte'])('the recipe for %s has at most 15 lines', (language) => {
  const [block] = codeBlocks('packages/web-worker/README.md', language);
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
