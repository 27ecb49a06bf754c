import { onStop } from './on-stop.ts';
import { killCommands } from './run-command.ts';
import { chooseSteps } from './test/choose-steps.ts';
import { runSteps, type FinishedStep } from './test/run-steps.ts';
import { StatusLine } from './test/status-line.ts';
import { steps } from './test/steps.ts';

// Usage: npm test [-- STEP… PATH…]. With --long, every core test runs in every engine, with all random cases.

const args = process.argv.slice(2);
if (args.includes('--long')) process.env['TEST_LONG'] = '1';
const choice = chooseSteps(
  steps,
  args.filter((arg) => arg !== '--long'),
);
if ('unknown' in choice) {
  console.error(`Unknown step: ${choice.unknown.join(', ')}. Steps: ${steps.map(({ name }) => name).join(', ')}.`);
  console.error('To run test files, give a part of their path with a slash or a dot.');
  process.exit(1);
}

onStop(() => {
  killCommands();
  process.exit(130);
});
const status = new StatusLine();
let passed = 0;
let failed = 0;
let testsRun = 0;
await runSteps(choice.steps, { filters: choice.filters, status }, (finished) => {
  const { step, result } = finished;
  passed += result.passed;
  failed += result.failed;
  if (step.runsTestFiles) testsRun += result.passed + result.failed;
  status.print(summaryOf(finished));
});
if (choice.filters.length > 0 && testsRun === 0) {
  console.error(`No test file of these steps matches ${choice.filters.join(' ')}.`);
  failed += 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

function summaryOf({ step, result, durationMs }: FinishedStep): string {
  const isGreen = result.failed === 0;
  const seconds = (durationMs / 1000).toFixed(1).padStart(6);
  const line = `${isGreen ? 'ok    ' : 'FAILED'}  ${step.name.padEnd(20)} ${seconds} s`;
  if (isGreen) return result.note ? `${line}  ${result.note}\n` : `${line}\n`;
  const output = result.output.trimEnd();
  return output === '' ? `${line}\n` : `${line}\n${output}\n`;
}
