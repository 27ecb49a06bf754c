import { globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { root } from '../root.ts';
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

/** Marks the site as built from the sources of now. `begin`: start of the build, in ms since 1970. */
export function markBuilt(begin: number): void {
  writeFileSync(marker, String(begin));
}

/** Returns whether the site was built and no source has changed since. */
export function isSiteBuilt(): boolean {
  if (!statSync(marker, { throwIfNoEntry: false })) return false;
  const built = Number(readFileSync(marker, 'utf8'));
  return globSync(sources, { cwd: root }).every((file) => {
    return (statSync(`${root}/${file}`, { throwIfNoEntry: false })?.mtimeMs ?? 0) < built;
  });
}
