import { globSync, readFileSync } from 'node:fs';
import { sourceProse } from './scripts/prose/source-prose.ts';
for (const p of globSync(process.argv.slice(2), { exclude: ['**/node_modules/**'] }).sort()) {
  const { sentences } = sourceProse(p, readFileSync(p, 'utf8'));
  if (sentences.length) console.log(`## ${p}`);
  for (const { text, line } of sentences) console.log(`${line}: ${text.trim()}`);
}
