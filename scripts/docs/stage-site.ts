import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { slugOf } from '../packed-files.ts';
import { root } from '../root.ts';
import { homeBody, homeFrontMatter, isHome } from './home-page.ts';
import { llmsFullText, llmsText } from './llms-text.ts';
import type { NameLinks } from './reference/name-links.ts';
import { basePath, contentFolder, publicFolder, siteFolder } from './site-folders.ts';
import { descriptionOf, markdownCopy, withFileNames } from './page-text.ts';
import { linkedFiles, replaceLinks, siteLink } from './site-links.ts';
import { bodyOf, fileOf, type SitePage } from './site-page.ts';
import { withStillPicture } from './still-picture.ts';

/**
 * Writes what the generator reads: the pages with front matter and the site's links, and the files
 * that the site serves unchanged. These are images, each page as Markdown, and the texts for
 * assistants.
 */
export function stageSite(
  pages: readonly SitePage[],
  names: NameLinks,
  isLive: (example: string) => boolean,
): void {
  rmSync(contentFolder, { recursive: true, force: true });
  rmSync(publicFolder, { recursive: true, force: true });
  const titles = new Map(pages.map(({ path, title }) => [path, `#${slugOf(title)}`]));
  for (const page of pages) {
    write(`${contentFolder}/${fileOf(page)}`, stagedPage(page, titles, names, isLive));
    write(`${publicFolder}/${page.address || 'index'}.md`, markdownCopy(page));
    for (const file of linkedFiles(page.markdown, page.path)) copy(file);
  }
  copyFileSync(`${siteFolder}/favicon.svg`, `${publicFolder}/favicon.svg`);
  write(`${publicFolder}/llms.txt`, llmsText(pages));
  write(`${publicFolder}/llms-full.txt`, llmsFullText(pages));
}

function stagedPage(
  page: SitePage,
  titles: ReadonlyMap<string, string>,
  names: NameLinks,
  isLive: (example: string) => boolean,
): string {
  const shown = isHome(page) ? homeBody(page) : bodyOf(page);
  const linked = replaceLinks(withFileNames(shown), page.path, ({ path, anchor }) => {
    // Starlight shows the title itself, with an anchor of its own.
    const isTitle = anchor !== '' && titles.get(path || page.path) === anchor;
    return siteLink({ path, anchor: isTitle ? '#_top' : anchor }, '/');
  });
  const body = withLiveExamples(names.addTo(withStillPicture(linked), page.address), isLive);
  const scripts = ['example-element', 'moving-picture'].filter((name) =>
    body.includes(tags[name]!),
  );
  const matter = {
    title: page.title,
    description: descriptionOf(page),
    head: [markdownLink(page), ...scripts.map(scriptOf)],
    ...(isHome(page) && homeFrontMatter(page)),
  };
  return `---\n${stringify(matter)}---\n\n${body}`;
}

/** The tag in a page for which it needs a script. */
const tags: Readonly<Record<string, string>> = {
  'example-element': '<live-example ',
  'moving-picture': '<moving-picture>',
};

function scriptOf(name: string): object {
  return { tag: 'script', attrs: { type: 'module', src: `${basePath}/live/${name}.js` } };
}

/** Puts an element around each code block of an example that runs in the reader's tab. */
function withLiveExamples(markdown: string, isLive: (example: string) => boolean): string {
  return markdown.replace(
    /^<!-- example: (\S+) -->\n+(```ts\n[\s\S]*?^```)$/gm,
    (block, name: string, code: string) =>
      isLive(name) ? `<live-example name="${name}">\n\n${code}\n\n</live-example>` : block,
  );
}

/** Returns the element that leads programs to the page as Markdown. */
function markdownLink({ address }: SitePage): object {
  const href = `${basePath}/${address || 'index'}.md`;
  return { tag: 'link', attrs: { rel: 'alternate', type: 'text/markdown', href } };
}

function copy(file: string): void {
  const target = `${publicFolder}/media/${file}`;
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(`${root}/${file}`, target);
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
