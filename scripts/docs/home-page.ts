import { bodyOf, isChinese, type SitePage } from './site-page.ts';
import { basePath } from './site-folders.ts';

const homes: ReadonlySet<string> = new Set(['', 'zh']);

/** Returns whether a page is the first page of a language. */
export function isHome({ address }: SitePage): boolean {
  return homes.has(address);
}

/**
 * Returns the front matter of a first page: its first paragraph stands at the top, above two links.
 */
export function homeFrontMatter(page: SitePage): object {
  const inChinese = isChinese(page.address);
  const start = inChinese ? '三分钟上手' : 'Start in three minutes';
  const demo = inChinese ? '打开演示' : 'Open the demo';
  const folder = inChinese ? `${basePath}/zh` : basePath;
  return {
    tableOfContents: false,
    hero: {
      title: 'Isoloop',
      tagline: firstParagraph(page),
      actions: [
        { text: start, link: `${folder}/start/`, icon: 'right-arrow' },
        { text: demo, link: '/', variant: 'secondary' },
      ],
    },
  };
}

/** Number of groups of links that a first page shows at once. The sidebar has all of them. */
const shownGroups = 5;

/**
 * Returns the body of a first page without its first paragraph, with each group of links as a card.
 * A reader opens the last groups.
 */
export function homeBody(page: SitePage): string {
  return bodyOf(page)
    .slice(firstParagraph(page).length)
    .replace(/(?:^### .+\n\n(?:- .+\n)+\n*)+/gm, (groups) => {
      const all = groups.match(group) ?? [];
      const rest = all.slice(shownGroups);
      if (rest.length === 0) return cards(all);
      const names = rest.map((text) => /^### (.+)/.exec(text)?.[1]).join(', ');
      const first = cards(all.slice(0, shownGroups));
      return `${first}<details>\n<summary>${names}</summary>\n\n${cards(rest)}</details>\n\n`;
    });
}

const group = /^### .+\n\n(?:- .+\n)+/gm;

function cards(groups: readonly string[]): string {
  return `<div class="home-cards">\n\n${groups.map(card).join('')}</div>\n\n`;
}

function card(text: string): string {
  return `<section>\n\n${text}\n</section>\n`;
}

function firstParagraph(page: SitePage): string {
  return bodyOf(page).split('\n\n', 1)[0] ?? '';
}
