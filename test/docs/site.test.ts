import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { brokenSiteLinks } from '../../scripts/docs/broken-links.ts';
import { llmsText } from '../../scripts/docs/llms-text.ts';
import { descriptionOf, markdownCopy, withFileNames } from '../../scripts/docs/page-text.ts';
import { sidebarOf } from '../../scripts/docs/sidebar.ts';
import { linkedFiles, linkedPages, replaceLinks, siteLink } from '../../scripts/docs/site-links.ts';
import { addressOf, bodyOf, fileOf, sitePage } from '../../scripts/docs/site-page.ts';
import { readSitePages } from '../../scripts/docs/site-pages.ts';
import { sourceFiles } from '../../scripts/docs/site-state.ts';
import { traditionalWords } from '../../scripts/docs/traditional.ts';
import { startSiteServer } from '../../scripts/docs/site-server.ts';
import { withSlashes } from '../../scripts/with-slashes.ts';

test('a page has the title of its first heading, and an address by its path', () => {
  const page = sitePage('docs/guides/a-b.md', '# The `tool()` *way*\n\nText.\n');
  expect(page).toMatchObject({ title: 'The tool() *way*', address: 'guides/a-b' });
  expect(bodyOf(page)).toBe('Text.\n');
  expect(() => sitePage('docs/a.md', 'Text.\n')).toThrow('docs/a.md: the first line of a page');
  const addresses = [
    'README.md',
    'docs/README.md',
    'docs/zh/README.md',
    'packages/core/README.md',
    'bench/RESULTS.md',
  ].map(addressOf);
  expect(addresses).toEqual(['overview', '', 'zh', 'packages/core', 'bench/results']);
  expect(addresses.map((address) => fileOf({ address }))).toEqual([
    'overview.md',
    'index.md',
    'zh/index.md',
    'packages/core.md',
    'bench/results.md',
  ]);
});

test('relative links lead to pages of the site, except those in code', () => {
  const markdown =
    '[a](b.md#c) [d](#e) [f](https://x.y/z.md) `[g](h.md)` ![i](../docs/middleware.svg) <img src="j.png">\n\n```md\n[k](l.md)\n```\n';
  expect(replaceLinks(markdown, 'docs/a.md', (link) => siteLink(link, '/'))).toBe(
    '[a](/docs/b/#c) [d](#e) [f](https://x.y/z.md) `[g](h.md)` ![i](/docs/media/docs/middleware.svg) <img src="/docs/media/docs/j.png">\n\n```md\n[k](l.md)\n```\n',
  );
  expect(linkedPages(markdown, 'docs/a.md')).toEqual(['docs/b.md']);
  expect(linkedFiles(markdown, 'docs/a.md')).toEqual(['docs/middleware.svg']);
  expect(
    markdownCopy(sitePage('packages/core/README.md', '# A\n\n[a](../../docs/README.md)')),
  ).toBe('# A\n\n[a](/docs/index.md)');
});

test('the site shows the name of the file above its code block', () => {
  expect(withFileNames('```tsx chat.tsx\n<Chat />;\n```\n\n```ts\na();\n```\n')).toBe(
    '```tsx title="chat.tsx"\n<Chat />;\n```\n\n```ts\na();\n```\n',
  );
});

test('the sidebar has the lists of the index, the reference and what the index does not list', () => {
  const index = sitePage(
    'docs/README.md',
    '# Docs\n\n- [C](c.md)\n\n## Start\n\n- [A](a.md): and [a heading](b.md#c)\n\nBy task:\n\n- [B](guides/b.md)\n- [A](a.md)\n',
  );
  const pages = ['docs/a.md', 'docs/guides/b.md', 'docs/c.md', 'docs/zh/a.md'].map((path) =>
    sitePage(path, '# Page\n'),
  );
  const reference = [sitePage('docs/reference/core.md', '# @isoloop/core\n')];
  expect(sidebarOf(index, [index, ...pages], reference)).toEqual([
    { label: 'Start', collapsed: true, items: [{ slug: 'a' }] },
    { label: 'By task', collapsed: true, items: [{ slug: 'guides/b' }] },
    {
      label: 'API reference',
      translations: { 'zh-CN': 'API 参考' },
      collapsed: true,
      items: [{ slug: 'reference/core' }],
    },
    { label: 'More', translations: { 'zh-CN': '更多' }, collapsed: true, items: [{ slug: 'c' }] },
  ]);
});

test('each group and page of the sidebar has a Chinese label, except packages', () => {
  const pages = readSitePages();
  const index = pages.find(({ path }) => path === 'docs/README.md');
  const groups = sidebarOf(index!, pages, []);
  expect(groups.filter((group) => !group.translations).map(({ label }) => label)).toEqual([]);
  const unnamed = groups.flatMap(({ items }) => items).filter((page) => !page.translations);
  expect(unnamed.filter(({ slug }) => !/^packages\/[\w-]+$/.test(slug))).toEqual([]);
});

test('words that differ in traditional Chinese are found in both forms', () => {
  expect(traditionalWords('记忆与工具：长期记忆')).toEqual(['記憶', '與', '長期']);
});

test('llms.txt lists each page as Markdown with its first paragraph', () => {
  const page = sitePage(
    'docs/a.md',
    '# A\n\n![picture](x.svg)\n\nSays *what* [it](b.md) `does`.\n',
  );
  expect(descriptionOf(page)).toBe('Says what it does.');
  expect(llmsText([page])).toContain('\n## Docs\n\n- [A](/docs/a.md): Says what it does.\n');
});

test('the pages of the repository have titles, and no two have one address', () => {
  const paths = readSitePages().map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['docs/README.md', 'packages/core/README.md']));
});

test('the server builds the site at the first request, and shows plain pages until it is built', async () => {
  let builds = 0;
  let finish = (_result: { ok: boolean; output: string }): void => {};
  const site = await startSiteServer({
    build: () => {
      builds += 1;
      return new Promise((resolve) => (finish = resolve));
    },
  });
  try {
    expect(builds).toBe(0);
    const paths = [
      '',
      'guides/tabs/',
      'media/docs/pictures/tabs.svg',
      'reference/core/',
      'media/package.json',
    ];
    const answers = await Promise.all(paths.map((path) => fetch(`${site.url}/docs/${path}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 503, 503]);
    const [home, tabs, picture, waiting] = await Promise.all(
      answers.map((answer) => answer.text()),
    );
    expect(home).toContain('<h1>Documentation</h1>');
    expect(home).not.toContain('<details open>');
    expect(tabs).toContain('<a href="/docs/guides/tabs/" aria-current="page">');
    expect(picture).toContain('<svg');
    expect(waiting).toContain('is being built');
    finish({ ok: false, output: 'No <title>.' });
    await expect.poll(async () => (await fetch(`${site.url}/docs/`)).status).toBe(500);
    expect(await (await fetch(`${site.url}/docs/`)).text()).toContain('No &lt;title>.');
    expect(builds).toBe(1);
  } finally {
    await site.stop();
  }
});

test('the site is made of files, so that a folder that its build writes does not make it outdated', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isoloop-sources-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(`${folder}/docs/site`, { recursive: true });
  writeFileSync(`${folder}/docs/site/a.ts`, '');
  expect(sourceFiles(folder)).toEqual([withSlashes(`${folder}/docs/site/a.ts`)]);
});

test('a link of the built site to a missing file or element is found', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isoloop-site-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(`${folder}/a`);
  writeFileSync(
    `${folder}/a/index.html`,
    '<a href="/docs/b.txt"></a><a href="#c&amp;d"></a><h2 id="c&#38;d"></h2><a href="../"></a><a href="https://x.y">',
  );
  writeFileSync(
    `${folder}/index.html`,
    '<a href="/docs/a/#c%26d"></a><a href="/docs/a/#e"></a><img src="/f.png"><a class="g" href="a/h/">',
  );
  writeFileSync(`${folder}/b.txt`, '');
  expect(brokenSiteLinks(folder)).toEqual([
    'index.html: /docs/a/#e',
    'index.html: /f.png',
    'index.html: a/h/',
  ]);
});
