import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { LiveProgram } from '../../../docs/site/live/live-program.ts';
import { stripTypes } from '../../../docs/site/live/strip-types.ts';
import { textOfValue } from '../../../docs/site/live/text-of-value.ts';
import { workerText } from '../../../docs/site/live/worker-text.ts';
import { findFiles } from '../../find-files.ts';
import { root } from '../../root.ts';
import { liveFolder } from './build-live.ts';

// Usage: node scripts/docs/live/check-programs.ts [FOLDER]. Runs each program of the live examples
// once, with the libraries that the page loads and without a network. Ends with exit code 1 if one
// fails: the site is then not built. Default of FOLDER: the programs of the site.

const folder = `${root}/node_modules/.cache/docs-live`;
const limitMs = 60_000;
const base = `${pathToFileURL(liveFolder).href}/lib/`;
const problems: string[] = [];
const { error: print } = console;

// What a worker has. The programs replace `console`.
Object.assign(globalThis, { postMessage: () => {}, addEventListener: () => {} });
globalThis.fetch = () => Promise.reject(new TypeError('A live example has no network.'));
process.on('unhandledRejection', (error) => problems.push(`Not handled: ${textOfValue(error)}`));

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const programs = process.argv[2] ?? `${liveFolder}/programs`;
const results = findFiles('*.json', { folder: programs }).map(async (name) => {
  const program = JSON.parse(readFileSync(`${programs}/${name}`, 'utf8')) as LiveProgram;
  const file = `${folder}/${program.name}.mjs`;
  try {
    writeFileSync(file, workerText(program, base, stripTypes));
    await Promise.race([import(pathToFileURL(file).href), tooLate()]);
  } catch (error) {
    problems.push(`${program.name}: ${textOfValue(error)}`);
  }
});
await Promise.all(results);
if (results.length === 0) problems.push(`There are no programs in ${programs}.`);
if (problems.length > 0) print(['Live examples failed.', ...problems].join('\n'));
process.exit(problems.length > 0 ? 1 : 0);

function tooLate(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`It did not end within ${limitMs} ms.`)), limitMs);
  });
}
