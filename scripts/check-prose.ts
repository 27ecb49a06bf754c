import { readFileSync } from 'node:fs';
import { findFiles } from './find-files.ts';
import { markdownProse } from './prose/markdown-prose.ts';
import { checkProse, type Prose } from './prose/rules.ts';
import { sourceProse } from './prose/source-prose.ts';
import { misspellings } from './prose/spelling.ts';
import { root } from './root.ts';

// `npm run prose` prints the sentences that are hard to read, and the misspelled words of pages. It
// helps a writer: no other command runs it.

const groups: readonly (readonly [name: string, files: readonly Prose[]])[] = [
  ['Packages', prose(['packages/*/src/**/*.ts'], sourceProse, ['**/*.test.ts'])],
  ['Tests of the packages', prose(['packages/*/src/**/*.test.ts'], sourceProse)],
  [
    'Scripts, demo, tests',
    prose(
      ['{bench,demo,scripts,test}/**/*.{ts,tsx,mjs}', 'packages/*/test-support/**/*.ts'],
      sourceProse,
    ),
  ],
  ['Markdown', prose(['*.md', '{bench,demo,docs,packages,test}/**/*.md'], markdownProse)],
];

/** Groups whose spelling is checked: what users read. */
const spelled: ReadonlySet<string> = new Set(['Markdown']);

let failed = 0;
for (const [name, files] of groups) {
  const { violations, sentences, words } = checkProse(files);
  for (const line of violations) console.error(line);
  failed += violations.length;
  const average = (words / sentences).toFixed(1);
  console.log(`${name}: ${sentences} sentences of ${average} words on average.`);
}
const misspelled = misspellings(
  groups.flatMap(([name, files]) => (spelled.has(name) ? files : [])),
);
for (const line of misspelled) console.error(line);
if (misspelled.length > 0) {
  console.error(`${misspelled.length} words are misspelled.`);
  process.exitCode = 1;
}
if (failed > 0) {
  console.error(`${failed} sentences are hard to read (docs/contributing/style.md).`);
  process.exitCode = 1;
}

function prose(
  patterns: readonly string[],
  read: (path: string, source: string) => Prose,
  exclude: readonly string[] = [],
): readonly Prose[] {
  const paths = findFiles(patterns, {
    exclude: ['**/node_modules/**', '**/dist/**', ...exclude],
  });
  return paths.map((path) => read(path, readFileSync(`${root}/${path}`, 'utf8')));
}
