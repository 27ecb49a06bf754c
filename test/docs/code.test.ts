import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeBlocks } from '../../scripts/code-blocks.ts';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';
import { runCommand } from '../../scripts/run-command.ts';

const folder = `${root}/node_modules/.cache/docs-code`;

interface Source {
  /** `page/file`, below `folder`. */
  readonly path: string;
  readonly source: string;
}

/** Declares the libraries that are not installed here. */
const libraries = `${root}/test/docs/docs-libraries.d.ts`;

const dom = ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'];

/** Where the code of a file runs. The end of the file's path says it. */
const hosts = {
  worker: {
    // On pages about endpoints, a worker is a Cloudflare Worker.
    ends: /edge\.ts$|^(packages\/edge\/README|docs\/guides\/(endpoint|model-proxy|security)[^/]*)\.md\/.*worker\.ts$/,
    lib: ['es2023'],
    types: ['@cloudflare/workers-types'],
  },
  node: { ends: /(agent|route|node-server)\.ts$/, lib: dom, types: ['node'] },
  page: { ends: /$/, lib: dom, types: [] },
} as const;

type Host = keyof typeof hosts;

const pages = findFiles(['docs/**/*.md', 'packages/core/SKILL.md']);
const readmes = findFiles(['README.md', 'packages/*/README.md']);
const sources: readonly Source[] = [...pages, ...readmes].flatMap((page) =>
  codeBlocks(page).map(({ file, source }) => ({ path: `${page}/${file}`, source })),
);

/** A code block with a mistake, for each host. It shows that the compilation reports mistakes. */
const mistakes: readonly Source[] = ['edge.ts', 'agent.ts', 'page.ts'].map((file) => ({
  path: `mistake.md/${file}`,
  source: `import { tool } from '@isoloop/core';\ntool({ name: 7 });`,
}));

// The files of a page may import each other.
beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  for (const { path, source } of [...sources, ...mistakes]) {
    mkdirSync(dirname(`${folder}/${path}`), { recursive: true });
    writeFileSync(`${folder}/${path}`, source);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(Object.keys(hosts) as Host[])(
  'the named code blocks of the pages and READMEs compile against the built packages in the host: %s',
  async (host) => {
    const paths = pathsIn(sources, host);
    const [mistake] = pathsIn(mistakes, host);
    expect(paths).not.toEqual([]);
    const { ok, output } = await compile(host, [...paths, mistake!]);
    expect(ok).toBe(false);
    expect(output.match(/^\S.*/gm)).toEqual([
      expect.stringContaining(`${mistake}(2,8): error TS2322: Type 'number'`),
    ]);
  },
);

test('the compilation includes code for each host', () => {
  const hostsOf = Object.fromEntries(sources.map(({ path }) => [path, hostOf(path)]));
  expect(hostsOf).toMatchObject({
    'README.md/worker.ts': 'page',
    'README.md/agent.ts': 'node',
    'packages/web-worker/README.md/worker.ts': 'page',
    'docs/guides/vue-and-svelte.md/agent.ts': 'node',
    'packages/edge/README.md/worker.ts': 'worker',
    'docs/guides/endpoint.md/mounted-worker.ts': 'worker',
    'docs/guides/endpoint.md/node-server.ts': 'node',
    'docs/guides/endpoint.md/page.tsx': 'page',
    'docs/guides/endpoint-conversations.md/facts-worker.ts': 'worker',
    'docs/guides/model-proxy.md/page-model-worker.ts': 'worker',
    'docs/guides/security.md/fetching-worker.ts': 'worker',
  });
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

function pathsIn(all: readonly Source[], host: Host): readonly string[] {
  return all.map(({ path }) => path).filter((path) => hostOf(path) === host);
}

/** Compiles the files at `paths` in one run, because most of its work is for all files. */
function compile(host: Host, paths: readonly string[]): ReturnType<typeof runCommand> {
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
    // Without imports, a file would share its names with all others.
    moduleDetection: 'force',
    allowImportingTsExtensions: true,
  };
  writeFileSync(
    `${folder}/tsconfig.json`,
    JSON.stringify({ compilerOptions, files: [...paths, libraries] }),
  );
  // More threads would check the same types several times.
  return runCommand('tsc', ['-p', folder, '--singleThreaded']);
}
