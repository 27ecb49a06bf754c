import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { findFiles } from '../find-files.ts';
import { basePath } from './site-folders.ts';

/**
 * Returns the links of a built site that lead to no file or no element, each as `page: link`. Reads
 * all HTML files in `folder`. Links to other sites are not checked.
 */
export function brokenSiteLinks(folder: string): readonly string[] {
  const pages = findFiles('**/*.html', { folder });
  const read = pages.map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const);
  const ids = new Map(read.map(([file, html]) => [file, idsIn(html)]));
  const isFile = new Map<string, boolean>();
  return read.flatMap(([file, html]) =>
    [...linksIn(html)].filter((link) => !leads(file, link)).map((link) => `${file}: ${link}`),
  );

  function leads(page: string, link: string): boolean {
    if (link === '/' || /^[a-z]+:|^\/\//i.test(link)) return true; // the demo, another site
    const address = new URL(link, `http://site${basePath}/${page.replace(/index\.html$/, '')}`);
    if (!address.pathname.startsWith(`${basePath}/`)) return false;
    const path = decodeURIComponent(address.pathname.slice(basePath.length + 1));
    const file = fileOf(path);
    if (file === undefined) return false;
    const anchor = decodeURIComponent(address.hash.slice(1));
    return anchor === '' || !ids.has(file) || ids.get(file)!.has(anchor);
  }

  function fileOf(path: string): string | undefined {
    if (path !== '' && !path.endsWith('/') && exists(path)) return path;
    const index = join(path, 'index.html');
    return exists(index) ? index : undefined;
  }

  function exists(file: string): boolean {
    const known = isFile.get(file) ?? (ids.has(file) || existsSync(join(folder, file)));
    isFile.set(file, known);
    return known;
  }
}

function idsIn(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => plain(id)));
}

function linksIn(html: string): ReadonlySet<string> {
  const links = [...html.matchAll(/<[a-z][^>]*?\s(?:href|src|srcset)="([^"]+)"/g)];
  return new Set(links.map(([, link = '']) => plain(link)));
}

function plain(attribute: string): string {
  return attribute.replaceAll('&amp;', '&').replaceAll('&#38;', '&');
}
