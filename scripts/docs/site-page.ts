import { readFileSync } from 'node:fs';
import { lexer, type Tokens } from 'marked';
import { root } from '../root.ts';

/** A Markdown file that is a page of the site. */
export interface SitePage {
  /** Path relative to the repository. A generated page has the path that it would have. */
  readonly path: string;
  /** Address relative to the site's base: `approvals`, `zh/start`, or empty for the index. */
  readonly address: string;
  /** Text of the first heading. */
  readonly title: string;
  /** The page with its first heading, as Markdown. */
  readonly markdown: string;
}

/** Reads a Markdown file of the repository. Throws if its first block is not a heading. */
export function readSitePage(path: string): SitePage {
  return sitePage(path, readFileSync(`${root}/${path}`, 'utf8'));
}

/**
 * Makes a page of Markdown. Leaves out front matter. Throws if the first block is not a heading.
 */
export function sitePage(path: string, text: string): SitePage {
  const markdown = text.replace(/^---\n[\s\S]*?\n---\n+/, '');
  const first = lexer(markdown).find(({ type }) => type !== 'space');
  if (first?.type !== 'heading')
    throw new Error(`${path}: the first line of a page must be its title, such as "# Approvals".`);
  const title = (first as Tokens.Heading).text.replaceAll('`', '');
  return { path, address: addressOf(path), title, markdown };
}

/**
 * Returns the address of a Markdown file, relative to the site's base. Pages of `docs` come first;
 * the other files keep their folder.
 */
export function addressOf(path: string): string {
  if (path === 'README.md') return 'overview';
  return path
    .replace(/^docs\//, '')
    .replace(/\.md$/, '')
    .replace(/(?:^|\/)README$/, '')
    .toLowerCase();
}

/** Returns whether a page is in Chinese. */
export function isChinese(address: string): boolean {
  return address === 'zh' || address.startsWith('zh/');
}

/** Returns the name of the page's file among the files that the generator reads. */
export function fileOf({ address }: Pick<SitePage, 'address'>): string {
  if (address === '' || address === 'zh') return `${address}/index.md`.replace(/^\//, '');
  return `${address}.md`;
}

/** Returns the page's body: the Markdown below the first heading. */
export function bodyOf({ markdown }: SitePage): string {
  return markdown.replace(/^\s*# .*\n+/, '');
}
