import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { close, createIndex } from 'pagefind';
import { stripTypes } from '../../docs/site/live/strip-types.ts';
import { findFiles } from '../find-files.ts';
import { htmlFolder, siteFolder } from './site-folders.ts';
import { searchHints } from './search-hints.ts';
import { bodyOf, type SitePage } from './site-page.ts';
import { traditionalWords } from './traditional.ts';

/** Folder of the index of the Chinese pages, below the site. */
export const chineseIndex = 'pagefind-zh';

/**
 * Replaces the generator's search index by two: one of the Chinese pages, and one of all others.
 * Pages in both languages search both. With the generator's own index, an English page finds no
 * Chinese one.
 *
 * A page in Chinese is also found by its words in traditional characters. `chinese`: the pages in
 * Chinese. The other addresses below `zh` show the English text.
 */
export async function buildSearchIndex(chinese: readonly SitePage[]): Promise<void> {
  const translated = new Set(chinese.map(({ address }) => address));
  const files = findFiles('**/*.html', { folder: htmlFolder });
  const pages = files.filter((file) => file !== '404.html');
  const isChinese = (file: string): boolean =>
    file.startsWith('zh/') && translated.has(file.replace(/\/?index\.html$/, ''));
  rmSync(searchFolder, { recursive: true, force: true }); // the generator's own index
  await indexPages(
    pages.filter((file) => !isChinese(file)),
    'pagefind/engine',
  );
  writeSearch();
  await indexPages(pages.filter(isChinese), chineseIndex, chinese);
  await close();
}

/** The search of the pages loads `pagefind.js` of this folder. */
const searchFolder = `${htmlFolder}/pagefind`;

/** Puts our search around that of Pagefind. */
function writeSearch(): void {
  for (const name of ['relaxed-search', 'search-hints']) {
    const source = readFileSync(`${siteFolder}/search/${name}.ts`, 'utf8');
    const text = stripTypes(source).replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'");
    writeFileSync(`${searchFolder}/${name}.js`, text);
  }
  const hints = searchHints(`${searchFolder}/engine/fragment`, (url) => weightOf(url.slice(1)));
  writeFileSync(`${searchFolder}/hints.json`, JSON.stringify(hints));
  const lines = [
    "import { search as strict } from './engine/pagefind.js';",
    "import { relaxedSearch } from './relaxed-search.js';",
    "export * from './engine/pagefind.js';",
    'let hints;',
    "const read = async () => (await fetch(new URL('hints.json', import.meta.url))).json();",
    'export const search = async (question, options) => {',
    '  hints ??= read().catch(() => undefined);',
    '  return relaxedSearch((words) => strict(words, options), question, await hints);',
    '};',
  ];
  writeFileSync(`${searchFolder}/pagefind.js`, lines.join('\n'));
}

async function indexPages(
  files: readonly string[],
  name: string,
  chinese?: readonly SitePage[],
): Promise<void> {
  const { index, errors } = await createIndex(chinese ? { forceLanguage } : {});
  if (!index) throw new Error(`The search index failed: ${errors.join(' ')}`);
  for (const file of files)
    checked(
      await index.addHTMLFile({
        sourcePath: file,
        content: weighed(
          chinese ? 1 : weightOf(file),
          readFileSync(`${htmlFolder}/${file}`, 'utf8'),
        ),
      }),
    );
  for (const page of chinese ?? [])
    checked(
      await index.addCustomRecord({
        url: `/${page.address}/#_top`, // a record of the page's own address would replace the page
        content: traditionalWords(bodyOf(page)).join(' '),
        language: forceLanguage,
        meta: { title: page.title },
      }),
    );
  rmSync(`${htmlFolder}/${name}`, { recursive: true, force: true });
  checked(await index.writeFiles({ outputPath: `${htmlFolder}/${name}` }));
}

/**
 * Weights of pages by the beginning of their address; the others have 1. The reference and the
 * pages for contributors contain most words, so they would come before the pages by task.
 */
const weights: readonly (readonly [address: RegExp, weight: number])[] = [
  [/^(?:overview\/)?(?:index\.html)?$/, 0.3],
  [/^zh\//, 0.1], // English pages for Chinese readers
  [/^reference\/(?!errors|events|formats)/, 0.1],
  [/^(?:changelog|contributing|bench)/, 0.05],
  [/^(?:packages|coming-from|features)/, 0.5],
];

function weighed(weight: number, html: string): string {
  return html.replace('data-pagefind-body', `data-pagefind-body data-pagefind-weight="${weight}"`);
}

function weightOf(address: string): number {
  return weights.find(([pattern]) => pattern.test(address))?.[1] ?? 1;
}

const forceLanguage = 'zh-cn';

function checked({ errors }: { readonly errors: readonly string[] }): void {
  if (errors.length > 0) throw new Error(`The search index failed: ${errors.join(' ')}`);
}
