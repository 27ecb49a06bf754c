import { globSync, readFileSync, rmSync } from 'node:fs';
import { close, createIndex } from 'pagefind';
import { htmlFolder } from './site-folders.ts';

/** Folder of the index of the Chinese pages, below the site. */
export const chineseIndex = 'pagefind-zh';

/**
 * Replaces the generator's search index by two: one of the Chinese pages, and one of all others. Pages
 * in both languages search both. With the generator's own index, an English page finds no Chinese
 * one.
 *
 * `isTranslated` tells whether an address below `zh` has a page in Chinese. The others show the
 * English text.
 */
export async function buildSearchIndex(isTranslated: (address: string) => boolean): Promise<void> {
  const files = globSync('**/*.html', { cwd: htmlFolder }).map((file) =>
    file.replaceAll('\\', '/'),
  );
  const pages = files.filter((file) => file !== '404.html');
  const isChinese = (file: string): boolean =>
    file.startsWith('zh/') && isTranslated(file.replace(/\/?index\.html$/, ''));
  await indexPages(
    pages.filter((file) => !isChinese(file)),
    'pagefind',
  );
  await indexPages(pages.filter(isChinese), chineseIndex, 'zh-cn');
  await close();
}

async function indexPages(
  files: readonly string[],
  name: string,
  language?: string,
): Promise<void> {
  const { index, errors } = await createIndex(language ? { forceLanguage: language } : {});
  if (!index) throw new Error(`The search index failed: ${errors.join(' ')}`);
  for (const file of files) {
    const added = await index.addHTMLFile({
      sourcePath: file,
      content: readFileSync(`${htmlFolder}/${file}`, 'utf8'),
    });
    if (added.errors.length > 0) throw new Error(`${file}: ${added.errors.join(' ')}`);
  }
  rmSync(`${htmlFolder}/${name}`, { recursive: true, force: true });
  const written = await index.writeFiles({ outputPath: `${htmlFolder}/${name}` });
  if (written.errors.length > 0) throw new Error(written.errors.join(' '));
}
