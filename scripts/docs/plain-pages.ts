import { readFileSync } from 'node:fs';
import { marked } from 'marked';
import { root } from '../root.ts';
import { homeBody, isHome } from './home-page.ts';
import { sidebarOf, type SidebarGroup } from './sidebar.ts';
import { basePath } from './site-folders.ts';
import { linkedFiles, replaceLinks, siteLink } from './site-links.ts';
import { bodyOf, isChinese, type SitePage } from './site-page.ts';
import { indexPath, readSitePages } from './site-pages.ts';
import { withStillPicture } from './still-picture.ts';

/** The written pages as plain HTML. */
export interface PlainPages {
  /** Returns the page with an address of the site such as `guides/tabs`. */
  page(address: string): string | undefined;
  /** Returns the path in the repository of a file that a page shows, such as `docs/loop.svg`. */
  file(path: string): string | undefined;
}

/**
 * Reads the written pages, so that a reader has them while the site is being built. They have the
 * site's addresses and colors, but no search, no API reference and no live examples.
 */
export function readPlainPages(): PlainPages {
  const pages = readSitePages();
  const index = pages.find(({ path }) => path === indexPath);
  if (!index) throw new Error(`There is no ${indexPath}.`);
  const byAddress = new Map(pages.map((page) => [page.address, page]));
  const files = new Set(pages.flatMap((page) => linkedFiles(page.markdown, page.path)));
  const groups = sidebarOf(index, pages, []);
  return {
    page: (address) => {
      const page = byAddress.get(address);
      return page && htmlOf(page, sidebar(groups, byAddress, address));
    },
    file: (path) => (files.has(path) ? `${root}/${path}` : undefined),
  };
}

function htmlOf(page: SitePage, navigation: string): string {
  const body = isHome(page) ? homeBody(page) : bodyOf(page);
  const linked = replaceLinks(withStillPicture(body), page.path, (link) => siteLink(link, '/'));
  const language = isChinese(page.address) ? 'zh-CN' : 'en';
  const title = escaped(page.title);
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${theme()}${style}</style></head><body><header><a href="${basePath}/">Isoloop</a><span>The search, the API reference and the live examples are being built. Reload this page in a minute.</span></header><div class="columns"><nav>${navigation}</nav><main><h1>${title}</h1>${marked.parse(linked, { async: false })}</main></div></body></html>`;
}

function sidebar(
  groups: readonly SidebarGroup[],
  pages: ReadonlyMap<string, SitePage>,
  shown: string,
): string {
  return groups
    .map(({ label, items }) => {
      const isOpen = items.some(({ slug }) => slug === shown);
      const links = items.map(({ slug }) => {
        const current = slug === shown ? ' aria-current="page"' : '';
        const title = escaped(pages.get(slug)?.title ?? slug);
        return `<li><a href="${basePath}/${slug}/"${current}>${title}</a></li>`;
      });
      const list = `<ul>${links.join('')}</ul>`;
      return `<details${isOpen ? ' open' : ''}><summary>${escaped(label)}</summary>${list}</details>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function theme(): string {
  return readFileSync(`${root}/demo/src/page/theme.css`, 'utf8');
}

const style = `
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.7 var(--font); }
a { color: var(--accent); }
header { display: flex; gap: 2rem; align-items: baseline; padding: 1rem 1.5rem;
  border-bottom: 1px solid var(--line); background: var(--surface); }
header a { font-size: 1.5rem; font-weight: 600; text-decoration: none; }
header span { color: var(--muted); font-size: 0.9rem; }
.columns { display: flex; gap: 2rem; }
nav { flex: 0 0 14rem; padding: 1.5rem; border-right: 1px solid var(--line); font-size: 0.9rem; }
nav ul { margin: 0.25rem 0 1rem; padding-left: 1rem; list-style: none; }
nav a { color: inherit; text-decoration: none; }
nav a[aria-current] { color: var(--accent); font-weight: 600; }
summary { padding: 0.25rem 0; font-weight: 600; cursor: pointer; }
main { flex: 1; min-width: 0; max-width: 56rem; padding: 1rem 1.5rem 4rem; }
pre { padding: 1rem; overflow-x: auto; border: 1px solid var(--line); background: var(--surface); }
code { font-size: 0.85em; }
img { max-width: 100%; height: auto; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.4rem 0.75rem; border-bottom: 1px solid var(--line); text-align: left; }
@media (max-width: 50rem) { .columns { display: block; } nav { border: 0; } }
`;
