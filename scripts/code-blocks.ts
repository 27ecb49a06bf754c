import { readFileSync } from 'node:fs';
import { root } from './root.ts';

/** A code block of a README, with the name of the file that it shows. */
export interface Block {
  readonly file: string;
  readonly source: string;
}

/**
 * Returns the code blocks of a README in TypeScript, or in the given language (a part of a regular
 * expression). The word after the language in the first line of a block is the file's name.
 */
export function codeBlocks(path = 'README.md', language = 'tsx?'): readonly Block[] {
  const readme = readFileSync(`${root}/${path}`, 'utf8');
  const block = new RegExp(`^\`\`\`(?:${language}) (\\S+)\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...readme.matchAll(block)].map(([, file = '', source = '']) => ({ file, source }));
}
