import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { root } from '../root.ts';
import { llmsFullText, llmsText } from './llms-text.ts';
import type { NameLinks } from './reference/name-links.ts';
import { basePath, contentFolder, publicFolder } from './site-folders.ts';
import { descriptionOf, markdownCopy } from './page-text.ts';
import { linkedFiles, replaceLinks, siteLink } from './site-links.ts';
import { bodyOf, fileOf, type SitePage } from './site-page.ts';

/**
 * Writes what the generator reads: the pages with front matter and the site's links, and the files
 * that the site serves unchanged. These are images, each page as Markdown, and the texts for
 * assistants.
 */
export function stageSite(pages: readonly SitePage[], names: NameLinks): void {
  rmSync(contentFolder, { recursive: true, force: true });
  rmSync(publicFolder, { recursive: true, force: true });
  for (const page of pages) {
    write(`${contentFolder}/${fileOf(page)}`, stagedPage(page, names));
    write(`${publicFolder}/${page.address || 'index'}.md`, markdownCopy(page));
    for (const file of linkedFiles(page.markdown, page.path)) copy(file);
  }
  write(`${publicFolder}/llms.txt`, llmsText(pages));
  write(`${publicFolder}/llms-full.txt`, llmsFullText(pages));
}

function stagedPage(page: SitePage, names: NameLinks): string {
  const linked = replaceLinks(bodyOf(page), page.path, (link) => siteLink(link, '/'));
  const body = names.addTo(linked, page.address);
  return `---\n${stringify({ title: page.title, description: descriptionOf(page), head: [markdownLink(page)] })}---\n\n${body}`;
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
