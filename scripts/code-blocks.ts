import { readFileSync } from 'node:fs';
import { root } from './root.ts';

/** A block of a README's code that is a file. */
export interface Block {
  readonly file: string;
  readonly source: string;
}

/** A README's TypeScript blocks; the word after `ts` names the file. */
export function codeBlocks(path = 'README.md'): readonly Block[] {
  const readme = readFileSync(`${root}/${path}`, 'utf8');
  return [...readme.matchAll(/^```tsx? (\S+)\n([\s\S]*?)^```$/gm)].map(
    ([, file = '', source = '']) => ({ file, source }),
  );
}
