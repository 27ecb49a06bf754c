import { lexer, type Token, type Tokens } from 'marked';
import { join } from 'node:path/posix';
import { chineseGroups, chinesePages } from './chinese-labels.ts';
import { addressOf, isChinese, type SitePage } from './site-page.ts';

/** A group of the sidebar, as Starlight takes it. */
export interface SidebarGroup {
  readonly label: string;
  readonly translations?: Readonly<Record<string, string>>;
  /** Closed. The generator opens the group of the page that it shows. */
  readonly collapsed: true;
  readonly items: readonly SidebarPage[];
}

export interface SidebarPage {
  readonly slug: string;
  readonly translations?: Readonly<Record<string, string>>;
}

/**
 * Returns the sidebar: the lists of links in the index of the docs, each with the heading or the
 * paragraph above it. Lists above the first heading of level 2 do not count. The generated
 * reference follows. Pages that the index does not list come last.
 */
export function sidebarOf(
  index: SitePage,
  pages: readonly SitePage[],
  reference: readonly SitePage[],
): readonly SidebarGroup[] {
  const listed = listsOf(index.markdown);
  const known = new Set(listed.flatMap(({ items }) => items));
  const rest = pages
    .filter(
      ({ path, address }) => path !== index.path && !known.has(address) && !isChinese(address),
    )
    .map(({ address }) => address);
  return [
    ...listed.map((list) => groupOf(list.label, list.items)),
    groupOf(
      'API reference',
      reference.map(({ address }) => address),
    ),
    ...(rest.length > 0 ? [groupOf('More', rest)] : []),
  ];
}

function groupOf(label: string, addresses: readonly string[]): SidebarGroup {
  const items = addresses.map((slug) => ({ slug, ...inChinese(chinesePages[slug]) }));
  return { label, ...inChinese(chineseGroups[label]), collapsed: true, items };
}

function inChinese(label: string | undefined): Pick<SidebarPage, 'translations'> {
  return label === undefined ? {} : { translations: { 'zh-CN': label } };
}

interface List {
  readonly label: string;
  readonly items: readonly string[];
}

function listsOf(markdown: string): readonly List[] {
  const lists: List[] = [];
  const seen = new Set<string>();
  let label = 'Pages';
  const begin = Math.max(0, markdown.search(/^## /m));
  for (const token of lexer(markdown.slice(begin))) {
    if (token.type === 'heading' || token.type === 'paragraph')
      label = (token as Tokens.Heading | Tokens.Paragraph).text.replace(/:$/, '');
    if (token.type !== 'list') continue;
    const items = linksIn(token).filter((address) => !seen.has(address));
    for (const item of items) seen.add(item);
    if (items.length > 0) lists.push({ label, items });
  }
  return lists;
}

/** Returns the addresses of the pages to which a list links. Links to headings do not count. */
function linksIn(token: Token): readonly string[] {
  if (token.type === 'link') {
    const { href } = token as Tokens.Link;
    return /^[^:#]+\.md$/.test(href) ? [addressOf(join('docs', href))] : [];
  }
  const { tokens = [], items = [] } = token as { tokens?: Token[]; items?: Token[] };
  return [...tokens, ...items].flatMap(linksIn);
}
