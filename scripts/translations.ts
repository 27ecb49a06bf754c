import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { findFiles } from './find-files.ts';
import { root } from './root.ts';

/** A Chinese page, and the English page that it was written from. */
export interface Translation {
  readonly path: string;
  readonly english: string;
  /** Sum of the English prose when the Chinese page was last read beside it. */
  readonly sum: string;
}

const marker = /^<!-- english: (\S+) (\w+) -->$/m;

/** Reads the Chinese pages. Throws if a page does not name its English side. */
export function readTranslations(): readonly Translation[] {
  return findFiles('docs/zh/*.md')
    .filter((path) => !path.endsWith('/README.md'))
    .map((path) => translationOf(path, read(path)));
}

/** Returns the English side that a page names in its comment. */
export function translationOf(path: string, markdown: string): Translation {
  const [, english, sum] = marker.exec(markdown) ?? [];
  if (english === undefined || sum === undefined)
    throw new Error(`${path} has no line <!-- english: docs/page.md 0 -->.`);
  return { path, english, sum };
}

/**
 * Returns the sum of a page's prose. Line breaks do not count. Neither do code blocks, because
 * `npm run readme` writes the same code into both pages.
 */
export function checksumOf(markdown: string): string {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/\s+/g, ' ');
  return createHash('sha256').update(prose).digest('hex').slice(0, 12);
}

/** Returns the pages whose English side has changed since they were read beside it. */
export function outdated(
  translations: readonly Translation[],
  readEnglish: (path: string) => string = read,
): readonly Translation[] {
  return translations.filter(({ english, sum }) => checksumOf(readEnglish(english)) !== sum);
}

function read(path: string): string {
  return readFileSync(`${root}/${path}`, 'utf8');
}

if (import.meta.main) {
  const pages = outdated(readTranslations());
  if (process.argv.includes('--accept')) {
    for (const { path, english } of pages) {
      const line = `<!-- english: ${english} ${checksumOf(read(english))} -->`;
      writeFileSync(`${root}/${path}`, read(path).replace(marker, line));
    }
  } else if (pages.length > 0) {
    for (const { path, english } of pages) console.log(`${english} has changed since ${path}.`);
    console.log('Update these pages, then run: npm run translations -- --accept');
    process.exitCode = 1;
  }
}
