import { readFileSync } from 'node:fs';
import { root } from './root.ts';

/** A code block of a README that is a file. */
export interface Block {
  readonly file: string;
  readonly source: string;
}

/** Returns a README's TypeScript blocks. The word after `ts` names the file. */
export function codeBlocks(path = 'README.md'): readonly Block[] {
  const readme = readFileSync(`${root}/${path}`, 'utf8');
  return [...readme.matchAll(/^```tsx? (\S+)\n([\s\S]*?)^```$/gm)].map(
    ([, file = '', source = '']) => ({ file, source }),
  );
}
