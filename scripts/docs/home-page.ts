import { bodyOf, isChinese, type SitePage } from './site-page.ts';
import { basePath } from './site-folders.ts';

const homes: ReadonlySet<string> = new Set(['', 'zh']);

/** Returns whether a page is the first page of a language. */
export function isHome({ address }: SitePage): boolean {
  return homes.has(address);
}

/** Returns the front matter of a first page: its first paragraph stands at the top, above two links. */
export function homeFrontMatter(page: SitePage): object {
  const inChinese = isChinese(page.address);
  const start = inChinese ? '三分钟上手' : 'Start in three minutes';
  const demo = inChinese ? '打开演示' : 'Open the demo';
  const folder = inChinese ? `${basePath}/zh` : basePath;
  return {
    template: 'splash',
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

/** Returns the body of a first page without its first paragraph, with each group of links as a card. */
export function homeBody(page: SitePage): string {
  return bodyOf(page)
    .slice(firstParagraph(page).length)
    .replace(
      /(?:^### .+\n\n(?:- .+\n)+\n*)+/gm,
      (groups) => `<div class="home-cards">\n\n${groups.replace(group, card)}</div>\n\n`,
    );
}

const group = /^### .+\n\n(?:- .+\n)+/gm;

function card(text: string): string {
  return `<section>\n\n${text}\n</section>\n`;
}

function firstParagraph(page: SitePage): string {
  return bodyOf(page).split('\n\n', 1)[0] ?? '';
}
