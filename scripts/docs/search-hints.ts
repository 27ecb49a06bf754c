import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { SearchHints } from '../../docs/site/search/search-hints.ts';

/** A page as Pagefind keeps it, for the passages of its results. */
interface Fragment {
  readonly url: string;
  readonly content: string;
  readonly anchors: readonly { readonly element: string; readonly text: string }[];
}

/** Pagefind begins its files with this mark. */
const mark = 'pagefind_dcd';

/** Headings of pages with less weight do not count. */
const minWeight = 0.5;

/**
 * Abbreviations of more pages are not told from other words: the search shows the best pages
 * anyway.
 */
const maxPages = 60;

/** Reads what our search has to know of the pages from the files of Pagefind. */
export function searchHints(folder: string, weightOf: (url: string) => number): SearchHints {
  const pages: Record<string, readonly string[]> = {};
  const wordsOf = new Map<string, ReadonlySet<string>>();
  const short = new Set<string>();
  for (const file of readdirSync(folder)) {
    const id = file.replace(/\.pf_fragment$/, '');
    const text = gunzipSync(readFileSync(`${folder}/${file}`)).toString();
    const { url, content, anchors } = JSON.parse(text.slice(mark.length)) as Fragment;
    const headings = anchors.filter(({ element }) => /^h[1-3]$/.test(element));
    pages[id] = weightOf(url) < minWeight ? [] : headings.map((heading) => heading.text);
    wordsOf.set(id, new Set(content.toLowerCase().match(/[\p{L}\p{N}]+/gu)));
    for (const [word] of content.matchAll(/\b[A-Z]{2,6}\b/g)) short.add(word.toLowerCase());
  }
  const abbreviations: Record<string, readonly string[]> = {};
  for (const word of short) {
    const ids = [...wordsOf].filter(([, words]) => words.has(word)).map(([id]) => id);
    if (ids.length <= maxPages) abbreviations[word] = ids;
  }
  return { pages, abbreviations };
}
