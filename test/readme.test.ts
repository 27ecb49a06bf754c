import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { codeBlocks, type Block } from '../scripts/code-blocks.ts';
import { root } from '../scripts/root.ts';
import { runCommand } from '../scripts/run-command.ts';

const folder = `${root}/node_modules/.cache/readme`;
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Type packages of the code blocks that do not run in a page, but in Node or in a Worker. */
const typesOf: Readonly<Record<string, readonly string[]>> = {
  'agent.ts': ['node'],
  'node-server.ts': ['node'],
};
const workers = { lib: ['es2023'], types: ['@cloudflare/workers-types'] };

test('the code in the README compiles against the built packages', async () => {
  const blocks = codeBlocks();
  expect(blocks.map(({ file }) => file)).toEqual(['worker.ts', 'page.ts', 'agent.ts']);
  for (const { file } of blocks)
    expect(await compile(file, blocks), file).toEqual({ ok: true, output: '' });
});

test('the code in the worker package’s README compiles against the built packages', async () => {
  const blocks = codeBlocks('packages/web-worker/README.md');
  expect(blocks.map(({ file }) => file)).toEqual([
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
  ]);
  for (const { file } of blocks)
    expect(await compile(file, blocks), file).toEqual({ ok: true, output: '' });
});

test('the code in the edge package’s README compiles against the built packages', async () => {
  const blocks = codeBlocks('packages/edge/README.md');
  expect(blocks.map(({ file }) => file)).toEqual([
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
  ]);
  for (const { file } of blocks) {
    const options = file.endsWith('worker.ts') || file === 'agent-with-facts.ts' ? workers : {};
    expect(await compile(file, blocks, options), file).toEqual({ ok: true, output: '' });
  }
});

test.for(['vue', 'svelte'])('the recipe for %s has at most 15 lines', (language) => {
  const [block] = codeBlocks('packages/web-worker/README.md', language);
  expect(block?.source.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
});

test.for(['docs/start.md', 'docs/zh/start.md'])(
  '%s installs the packages with the line of the README',
  (page) => {
    const lineOf = (path: string) =>
      /^npm pack .*$/m.exec(readFileSync(`${root}/${path}`, 'utf8'))?.[0];
    expect(lineOf(page)).toBe(lineOf('README.md'));
  },
);

test('the compilation of a README reports a mistake in a code block', async () => {
  const { ok, output } = await compile('agent.ts', [
    {
      file: 'agent.ts',
      source: `import { ReActAgent } from '@isoloop/core';\nnew ReActAgent({ name: 7 });`,
    },
  ]);
  expect(ok).toBe(false);
  expect(output).toContain("Type 'number' is not assignable to type 'string'");
});

/**
 * Compiles one code block. Also writes the other blocks as files, because the block can import
 * them.
 */
function compile(
  file: string,
  blocks: readonly Block[],
  options: Partial<typeof workers> = {},
): ReturnType<typeof runCommand> {
  const compilerOptions = {
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: typesOf[file] ?? [],
    strict: true,
    jsx: 'react-jsx',
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    ...options,
  };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const block of blocks) writeFileSync(`${folder}/${block.file}`, block.source);
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, files: [file] }));
  return runCommand('tsc', ['-p', folder]);
}
