import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withSlashes } from './with-slashes.ts';

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly string[];
}

/** Fields that a page of a package registry shows, or that npm checks. */
const requiredFields = ['description', 'keywords', 'license', 'engines', 'exports'];

/** Returns what is wrong with the files of an unpacked package. */
export function packageProblems(folder: string): readonly string[] {
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) =>
    withSlashes(file),
  );
  const manifest = JSON.parse(read('package.json')) as Readonly<Record<string, unknown>>;
  return [
    ...requiredFields
      .filter((field) => manifest[field] === undefined)
      .map((field) => `package.json has no "${field}"`),
    ...['README.md', 'LICENSE'].filter((file) => !files.includes(file)).map(missing),
    ...files.filter(isInternal).map((file) => `${file} is only for the repository`),
    ...files
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) => brokenLinks(read(file)).map((link) => `${file} has the link ${link}`)),
    ...files.filter((file) => /\.(js|d\.ts)$/.test(file)).flatMap((file) => mapProblems(file)),
  ];

  function mapProblems(file: string): readonly string[] {
    if (!file.startsWith('dist/')) return [];
    if (!files.includes(`${file}.map`)) return [missing(`${file}.map`)];
    const { sources, sourcesContent } = JSON.parse(read(`${file}.map`)) as SourceMap;
    if (sourcesContent) return [];
    return sources
      .filter((source) => !existsSync(join(folder, dirname(file), source)))
      .map((source) => `${file}.map names ${source}, which is not in the package`);
  }
}

function missing(file: string): string {
  return `there is no ${file}`;
}

function isInternal(file: string): boolean {
  return /\.test\.|\.tsbuildinfo$|^test-support\/|tsconfig/.test(file);
}

/**
 * Returns the links that a registry's page cannot open. Complete addresses and headings of the same
 * file are fine, and so are links to the repository, because a release completes them.
 */
function brokenLinks(markdown: string): readonly string[] {
  const headings = new Set(
    [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slugOf(heading)),
  );
  return [...markdown.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^https?:/.test(link) && !link.startsWith(toRepository))
    .filter((link) => !link.startsWith('#') || !headings.has(link.slice(1)));
}

/** How a link from a package's README to the rest of the repository begins. */
const toRepository = '../../';

/** Returns a package's README with complete links to the files of the repository. */
export function withCompleteLinks(markdown: string, repository: string): string {
  return markdown.replaceAll(`](${toRepository}`, `](${repository}/blob/main/`);
}

/** Returns the anchor of a heading, as GitHub makes it. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
