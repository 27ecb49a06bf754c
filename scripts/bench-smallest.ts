import { readdirSync } from 'node:fs';
import { runCommand } from './run-command.ts';
import { root } from './root.ts';

// Runs every script of `bench` once with its smallest workload. The figures mean nothing: this only
// finds a script that no longer works.

/** Scripts that are not benchmarks of their own, with what they are. */
const others: Readonly<Record<string, string>> = {
  'all.mjs': 'runs the others, and writes RESULTS.md',
  'server.mjs': 'the model server of the others',
};

/** Scripts that run alone. `bench.mjs` starts each of the others by its name. */
const alone = ['retained.mjs', 'size-parts.mjs', 'waiting.mjs'];

/** Options that leave out repetitions of the same code. */
const options: Readonly<Record<string, readonly string[]>> = {
  'bench.mjs': ['--scenarios', 's2'],
  'worker.mjs': ['--scenarios', 'reads'],
};

process.env['BENCH_SMALLEST'] = '1';
let failures = 0;
for (const file of readdirSync(`${root}/bench`).filter((name) => name.endsWith('.mjs'))) {
  if (file in others) continue;
  const result = await runCommand('node', ['--expose-gc', ...commandOf(file)]);
  if (result.ok) continue;
  failures += 1;
  console.error(`bench/${file} fails:\n${result.output.slice(-3000)}`);
}
process.exit(failures > 0 ? 1 : 0);

function commandOf(file: string): readonly string[] {
  const more = options[file] ?? [];
  if (alone.includes(file) || file === 'bench.mjs') return [`bench/${file}`, ...more];
  return ['bench/bench.mjs', file.replace('.mjs', ''), ...more];
}
