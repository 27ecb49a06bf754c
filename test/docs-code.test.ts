import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { codeBlocks } from '../scripts/code-blocks.ts';
import { findFiles } from '../scripts/find-files.ts';
import { root } from '../scripts/root.ts';
import { runCommand } from '../scripts/run-command.ts';

const folder = `${root}/node_modules/.cache/docs-code`;
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Source {
  /** `page/file`, below `folder`. */
  readonly path: string;
  readonly source: string;
}

/** Declares the libraries that are not installed here. */
const libraries = `${root}/test/docs-libraries.d.ts`;

const dom = ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'];

/** Where the code of a file runs. The end of the file's name says it. */
const hosts = {
  worker: { ends: /edge\.ts$/, lib: ['es2023'], types: ['@cloudflare/workers-types'] },
  node: { ends: /(agent|route)\.ts$/, lib: dom, types: ['node'] },
  page: { ends: /$/, lib: dom, types: [] },
} as const;

type Host = keyof typeof hosts;

const pages = findFiles(['docs/**/*.md', 'packages/core/SKILL.md']);
const sources: readonly Source[] = pages.flatMap((page) =>
  codeBlocks(page).map(({ file, source }) => ({ path: `${page}/${file}`, source })),
);

test.each(Object.keys(hosts) as Host[])(
  'the named code blocks of the pages compile against the built packages in the host: %s',
  async (host) => {
    const paths = sources.map(({ path }) => path).filter((path) => hostOf(path) === host);
    expect(paths).not.toEqual([]);
    expect(await compile(host, paths, sources)).toEqual({ ok: true, output: '' });
  },
);

test('the compilation reports a mistake in a code block', async () => {
  const source = `import { tool } from '@isoloop/core';\ntool({ name: 7 });`;
  const { ok, output } = await compile(
    'node',
    ['docs/a.md/agent.ts'],
    [{ path: 'docs/a.md/agent.ts', source }],
  );
  expect(ok).toBe(false);
  expect(output).toContain("docs/a.md/agent.ts(2,8): error TS2322: Type 'number'");
});

/** Code in JavaScript is not compiled, so only programs of other systems may be written in it. */
test('the pages show our code in TypeScript', () => {
  const others = pages.filter((page) => !/^docs\/(zh\/)?coming-from/.test(page));
  const untyped = others.filter((page) =>
    /^```jsx?\b/m.test(readFileSync(`${root}/${page}`, 'utf8')),
  );
  expect(untyped).toEqual([]);
});

function hostOf(path: string): Host {
  if (hosts.worker.ends.test(path)) return 'worker';
  return hosts.node.ends.test(path) ? 'node' : 'page';
}

/** Compiles the files at `paths`. Writes all sources, because files of a page may import others. */
function compile(
  host: Host,
  paths: readonly string[],
  all: readonly Source[],
): ReturnType<typeof runCommand> {
  const { lib, types } = hosts[host];
  const compilerOptions = {
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib,
    types,
    strict: true,
    jsx: 'react-jsx',
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    allowImportingTsExtensions: true,
  };
  rmSync(folder, { recursive: true, force: true });
  for (const { path, source } of all) {
    mkdirSync(dirname(`${folder}/${path}`), { recursive: true });
    writeFileSync(`${folder}/${path}`, source);
  }
  writeFileSync(
    `${folder}/tsconfig.json`,
    JSON.stringify({ compilerOptions, files: [...paths, libraries] }),
  );
  return runCommand('tsc', ['-p', folder]);
}
