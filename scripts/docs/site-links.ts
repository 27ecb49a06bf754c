import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { root } from '../root.ts';
import { addressOf } from './site-page.ts';
import { basePath } from './site-folders.ts';

/** A relative link of a page, resolved to a file of the repository. */
export interface RelativeLink {
  /** Path relative to the repository, or empty for a link to a heading of the page. */
  readonly path: string;
  /** The heading's anchor with its `#`, or an empty text. */
  readonly anchor: string;
}

/**
 * Replaces each relative link of a page, in Markdown and in the `src`, `srcset` and `href` of HTML.
 * Leaves code and links with a scheme as they are.
 */
export function replaceLinks(
  markdown: string,
  path: string,
  replace: (link: RelativeLink) => string,
): string {
  const resolved = (link: string): string => {
    if (/^(?:[a-z]+:|\/)/.test(link)) return link;
    const [file = '', anchor] = link.split('#');
    return replace({
      path: file ? join(dirname(path), file) : '',
      anchor: anchor === undefined ? '' : `#${anchor}`,
    });
  };
  return outsideCode(markdown, (prose) =>
    prose
      .replace(/\]\(([^)\s]+)\)/g, (_, link: string) => `](${resolved(link)})`)
      .replace(/\b(src|srcset|href)="([^"]+)"/g, (_, name, link) => `${name}="${resolved(link)}"`),
  );
}

/** Changes the parts of a Markdown text that are neither code blocks nor code spans. */
export function outsideCode(markdown: string, change: (prose: string) => string): string {
  return markdown
    .split(/(^ *```[\s\S]*?^ *```$|`[^`\n]+`)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}

/** Returns the paths of the Markdown files to which a page links. */
export function linkedPages(markdown: string, path: string): readonly string[] {
  const found = new Set<string>();
  replaceLinks(markdown, path, (link) => {
    if (link.path.endsWith('.md')) found.add(link.path);
    return '';
  });
  return [...found];
}

/** Returns the address in the site to which a link leads. `end` follows a page's address. */
export function siteLink({ path, anchor }: RelativeLink, end: '/' | '.md'): string {
  if (path === '') return anchor;
  if (!path.endsWith('.md')) return `${basePath}/media/${path}${anchor}`;
  const address = addressOf(path);
  if (end === '.md') return `${basePath}/${address || 'index'}.md${anchor}`;
  return `${basePath}/${address}${address ? '/' : ''}${anchor}`;
}

/** Returns the paths of the files, other than pages, that a page shows or links. */
export function linkedFiles(markdown: string, path: string): readonly string[] {
  const found = new Set<string>();
  replaceLinks(markdown, path, (link) => {
    if (link.path && !link.path.endsWith('.md') && existsSync(`${root}/${link.path}`))
      found.add(link.path);
    return '';
  });
  return [...found];
}
