import { globSync } from 'node:fs';
import { root } from './root.ts';
import { withSlashes } from './with-slashes.ts';

export interface FindFilesOptions {
  /** Folder to search. Default: the repository's root. */
  readonly folder?: string;
  /** Patterns of files to leave out. */
  readonly exclude?: readonly string[];
}

/** Returns the sorted paths of the files that match, relative to the folder, with `/`. */
export function findFiles(
  patterns: string | readonly string[],
  { folder = root, exclude = [] }: FindFilesOptions = {},
): string[] {
  return globSync(patterns, { cwd: folder, exclude })
    .map((path) => withSlashes(path))
    .toSorted();
}
