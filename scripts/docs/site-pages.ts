import { existsSync } from 'node:fs';
import { findFiles } from '../find-files.ts';
import { root } from '../root.ts';
import { linkedPages } from './site-links.ts';
import { readSitePage, type SitePage } from './site-page.ts';

/** Path of the index of the docs. */
export const indexPath = 'docs/README.md';

/**
 * Reads the pages of the site: the Markdown files in `docs`, `SKILL.md`, and all files to which
 * they link. Throws if two files have one address.
 */
export function readSitePages(): readonly SitePage[] {
  const pages = new Map<string, SitePage>();
  const waiting = findFiles(['docs/**/*.md', 'packages/core/SKILL.md']);
  for (const path of waiting) {
    if (pages.has(path) || !existsSync(`${root}/${path}`)) continue;
    const page = readSitePage(path);
    pages.set(path, page);
    waiting.push(...linkedPages(page.markdown, path));
  }
  checkAddresses([...pages.values()]);
  return [...pages.values()];
}

function checkAddresses(pages: readonly SitePage[]): void {
  const paths = new Map<string, string>();
  for (const { address, path } of pages) {
    const other = paths.get(address);
    if (other !== undefined) throw new Error(`${path} and ${other} have one address: ${address}.`);
    paths.set(address, path);
  }
}
