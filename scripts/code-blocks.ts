import { readFileSync } from 'node:fs';
import { root } from './root.ts';

/** A code block of a README, with the name of the file that it shows. */
export interface Block {
  readonly file: string;
  readonly source: string;
}

/**
 * Returns the TypeScript code blocks of a README. The word after `ts` in the first line of a block
 * is the file's name.
 */
export function codeBlocks(path = 'README.md'): readonly Block[] {
  const readme = readFileSync(`${root}/${path}`, 'utf8');
  return [...readme.matchAll(/^```tsx? (\S+)\n([\s\S]*?)^```$/gm)].map(
    ([, file = '', source = '']) => ({ file, source }),
  );
}
