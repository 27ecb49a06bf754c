import { onStop } from './on-stop.ts';
import { killCommands } from './run-command.ts';
import { chooseSteps } from './test/choose-steps.ts';
import { runSteps } from './test/run-steps.ts';
import { StatusLine } from './test/status-line.ts';
import type { Step, StepContext, StepResult } from './test/step.ts';
import { steps } from './test/steps.ts';
import type { Suite } from './test/suite-files.ts';

// Usage: npm test [-- STEP… PATH…]. `--all` runs what `npm test` leaves out. `--long` runs
// everything: every test of core in every engine, with all random cases.

/**
 * How many steps run at the same time. A Vitest step alone leaves a third of two cores idle while
 * its tests wait for each other and for timers.
 */
const lanes = 2;

/** How many names of failed tests the end of the output lists. */
const maxListed = 20;

const headings: Readonly<Record<Suite, string>> = {
  quick:
    'npm test: types, lint and the public behavior of each package.\nThe rest: npm run test:all',
  rest: 'npm run test:all: all that npm test leaves out.',
  long: 'npm run test:long: every test in every engine, with all random cases.',
};

const begin = Date.now();
const args = process.argv.slice(2).filter((arg) => !/^--(?:all|long)$/.test(arg));
const suite = suiteOf(process.argv);
const choice = chooseSteps(steps, args, suite);
if ('unknown' in choice) {
  console.error(
    `Unknown step: ${choice.unknown.join(', ')}. Steps: ${steps.map(({ name }) => name).join(', ')}.`,
  );
  console.error('To run test files, give a part of their path that contains a slash or a dot.');
  process.exit(1);
}
// With steps or paths as arguments, no suite leaves out files.
process.env['TEST_SUITE'] = args.length > 0 && suite !== 'long' ? 'chosen' : suite;

onStop(() => {
  killCommands();
  process.exit(130);
});
const status = new StatusLine(choice.steps.length);
const context: StepContext = { filters: choice.filters, status };
let passed = 0;
let failed = 0;
let testsRun = 0;
const failures: string[] = [];
if (args.length === 0) console.log(`${headings[suite]}\n`);
await runSteps(choice.steps, {
  lanes,
  run(step) {
    status.show(step.name, 'runs');
    return step.run(context);
  },
  onEnd(step, result, durationMs) {
    if (step.runsTestFiles) testsRun += result.passed + result.failed;
    passed += result.passed;
    failed += result.failed;
    if (result.failed > 0) failures.push(failureOf(step, result));
    status.end(step.name);
    status.print(reportOf(step, result, durationMs));
  },
});
if (choice.filters.length > 0 && testsRun === 0) {
  console.error(`No test file of these steps matches ${choice.filters.join(' ')}.`);
  failed += 1;
}
if (failures.length > 0) {
  console.log(`\nFailed:\n${failures.join('\n')}`);
  console.log('Details are above. Run a step or a file again: npm test -- node path/of/a.test.ts');
}
console.log(`\nAll steps took ${((Date.now() - begin) / 1000).toFixed(1)} s.`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

function suiteOf(argv: readonly string[]): Suite {
  if (argv.includes('--long')) return 'long';
  return argv.includes('--all') ? 'rest' : 'quick';
}

function reportOf(
  { name, about }: Step,
  { failed: failedTests, note, output }: StepResult,
  durationMs: number,
): string {
  const mark = failedTests > 0 ? 'FAILED' : 'ok    ';
  const seconds = `${(durationMs / 1000).toFixed(1).padStart(6)} s`;
  const line = `${mark}  ${name.padEnd(10)} ${seconds}  ${about}`;
  if (failedTests === 0) return note ? `${line}: ${note}\n` : `${line}\n`;
  return output.trim() === '' ? `${line}\n` : `${line}\n${output.trimEnd()}\n`;
}

/** Returns the lines about a failed step in the list at the end. */
function failureOf({ name }: Step, { failures: names = [] }: StepResult): string {
  const listed = names.slice(0, maxListed).map((test) => `    ${test}`);
  const more = names.length > maxListed ? [`    and ${names.length - maxListed} more`] : [];
  return [`  ${name}`, ...listed, ...more].join('\n');
}
