// `npm run bench -- all`: runs the benchmarks of RESULTS.md one after the other, each in a process
// of its own, and writes the file. The endpoint runs with fewer rounds than by itself.
import { spawn } from 'node:child_process';

const benchmarks = [
  ['--runtimes', 'node,node-settled,workerd,chromium'],
  ['profile'],
  ['worker', '--reps', '11'],
  ['growth'],
  ['pages'],
  ['objects'],
  ['edge', '--parts', 'load,memory,idle', '--reps', '1'],
  ['edge', '--parts', 'answer,cold', '--reps', '7'],
];

export async function benchAll() {
  const begin = performance.now();
  for (const options of benchmarks) {
    await run([`${import.meta.dirname}/bench.mjs`, ...options, '--write']);
    const minutes = (performance.now() - begin) / 60_000;
    console.log(`\n${options.join(' ')}: ${minutes.toFixed(1)} minutes since the start`);
  }
}

function run(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`${args.join(' ')} ended with ${code}`)),
    );
  });
}
