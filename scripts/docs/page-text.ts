import { replaceLinks, siteLink } from './site-links.ts';
import { bodyOf, type SitePage } from './site-page.ts';

/** Returns the page as Markdown, with links to other pages as Markdown. */
export function markdownCopy({ markdown, path }: SitePage): string {
  return replaceLinks(markdown, path, (link) => siteLink(link, '.md'));
}

/** Gives the code blocks that name a file this name as their title. */
export function withFileNames(markdown: string): string {
  return markdown.replaceAll(/^```(\w+) (\S+)$/gm, '```$1 title="$2"');
}

/** Returns the first paragraph of a page, without its marks, for lists and search engines. */
export function descriptionOf(page: SitePage): string {
  const [paragraph = ''] = bodyOf(page)
    .split(/\n{2,}/)
    .filter((block) => /^[\p{L}`"[]/u.test(block));
  const text = paragraph
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace(/[`*_]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
