import { globSync, readFileSync } from 'node:fs';
import { checkProse } from './prose.ts';
import { root } from './root.ts';

const files = globSync('packages/*/src/**/*.ts', { cwd: root })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ path, source: readFileSync(`${root}/${path}`, 'utf8') }));
const { violations, sentences, words } = checkProse(files);
for (const line of violations) console.error(line);
if (violations.length > 0) {
  console.error(`${violations.length} comments are hard to read (CONTRIBUTING.md, "Comments").`);
  process.exitCode = 1;
} else {
  const average = (words / sentences).toFixed(1);
  console.log(`Comments: ${sentences} sentences of ${average} words on average, no violation.`);
}
