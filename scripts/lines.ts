import { readFileSync } from 'node:fs';
import { findFiles } from './find-files.ts';
import { root } from './root.ts';

// `npm run lines` counts the lines of code of each package and of each folder of core's `src`: no
// blank lines, comments, tests or test support. It also prints the mean length of a line without
// its indentation. It fails if a count is over its budget.

interface Count {
  readonly lines: number;
  readonly characters: number;
}

/** Maximum number of lines of code, by folder. */
const budgets: Readonly<Record<string, number>> = {
  'core/src': 30_000,
  'core/src/agent': 2_200,
};

const packages = ['core', 'web-worker', 'edge', 'create-isoloop'];
const folders = findFiles('core/src/{*,middleware/*,model/*}/', { folder: `${root}/packages` });
const rows = [...packages.map((name) => `${name}/src`), ...folders];
for (const folder of rows) {
  const { lines, characters } = countFolder(folder);
  if (lines === 0) continue;
  const budget = budgets[folder];
  const isOver = budget !== undefined && lines > budget;
  if (isOver) process.exitCode = 1;
  const mean = (characters / lines).toFixed(1);
  const limit = budget === undefined ? '' : `  ${isOver ? 'OVER ' : ''}budget ${budget}`;
  console.log(`${String(lines).padStart(6)}  ${mean.padStart(5)}  ${folder}${limit}`);
}

function countFolder(folder: string): Count {
  const files = findFiles(`packages/${folder}/**/*.{ts,tsx}`);
  return files
    .filter((path) => !/\.test\.tsx?$|\.fixture\.|\.d\.ts$/.test(path))
    .map((path) => countText(readFileSync(`${root}/${path}`, 'utf8')))
    .reduce(
      (sum, one) => ({
        lines: sum.lines + one.lines,
        characters: sum.characters + one.characters,
      }),
      { lines: 0, characters: 0 },
    );
}

function countText(source: string): Count {
  const lines = source
    .replaceAll(/^\s*\/\*[^]*?\*\//gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith('//'));
  return { lines: lines.length, characters: lines.join('').length };
}
