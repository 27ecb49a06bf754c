import { existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { root } from '../root.ts';
import { withSlashes } from '../with-slashes.ts';
import { outputFolder } from './site-folders.ts';

const marker = `${outputFolder}/built`;

/** What the site is made of. */
const sources = [
  '*.md',
  'bench/*.md',
  'docs/**/*',
  'packages/*/*.{json,md}',
  'packages/*/src/**/*.ts',
  'scripts/docs/**/*.ts',
  'test/examples/**/*.ts',
];

/** Marks the site as unfinished, until `markBuilt()`. */
export function markUnfinished(): void {
  rmSync(marker, { force: true });
}

/**
 * Marks the site as built from the sources of now. `begin`: start of the build, in ms since 1970.
 */
export function markBuilt(begin: number): void {
  writeFileSync(marker, JSON.stringify({ begin, files: sourceFiles(root).length }));
}

/** Returns whether the site was built and no source has changed since. */
export function isSiteBuilt(): boolean {
  if (!existsSync(marker)) return false;
  const { begin, files } = JSON.parse(readFileSync(marker, 'utf8')) as Record<string, number>;
  const now = sourceFiles(root);
  return now.length === files && now.every((file) => statSync(file).mtimeMs < begin!);
}

/** Returns the sources, without folders: the build writes a folder of its own into one of them. */
export function sourceFiles(folder: string): readonly string[] {
  return globSync(sources, { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => withSlashes(`${entry.parentPath}/${entry.name}`));
}
