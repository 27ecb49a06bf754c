import { onStop } from './on-stop.ts';
import { killCommands } from './run-command.ts';
import { chooseSteps } from './test/choose-steps.ts';
import { runSteps } from './test/run-steps.ts';
import { StatusLine } from './test/status-line.ts';
import type { Step, StepContext, StepResult } from './test/step.ts';
import { steps } from './test/steps.ts';

// Usage: npm test [-- STEP… PATH…]. With --long, every test of core runs in every engine, with all
// random cases.

/**
 * How many steps run at the same time. A Vitest step alone leaves a third of two cores idle while
 * its tests wait for each other and for timers.
 */
const lanes = 2;

const begin = Date.now();
const args = process.argv.slice(2);
if (args.includes('--long')) process.env['TEST_LONG'] = '1';
const choice = chooseSteps(
  steps,
  args.filter((arg) => arg !== '--long'),
);
if ('unknown' in choice) {
  console.error(
    `Unknown step: ${choice.unknown.join(', ')}. Steps: ${steps.map(({ name }) => name).join(', ')}.`,
  );
  console.error('To run test files, give a part of their path that contains a slash or a dot.');
  process.exit(1);
}

onStop(() => {
  killCommands();
  process.exit(130);
});
const status = new StatusLine();
const context: StepContext = { filters: choice.filters, status };
let passed = 0;
let failed = 0;
let testsRun = 0;
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
    status.end(step.name);
    status.print(reportOf(step, result, durationMs));
  },
});
if (choice.filters.length > 0 && testsRun === 0) {
  console.error(`No test file of these steps matches ${choice.filters.join(' ')}.`);
  failed += 1;
}
console.log(`All steps took ${((Date.now() - begin) / 1000).toFixed(1)} s.`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

function reportOf(
  { name }: Step,
  { failed: failures, note, output }: StepResult,
  durationMs: number,
): string {
  const mark = failures > 0 ? 'FAILED' : 'ok    ';
  const line = `${mark}  ${name.padEnd(20)} ${(durationMs / 1000).toFixed(1).padStart(6)} s`;
  if (failures === 0) return note ? `${line}  ${note}\n` : `${line}\n`;
  return output.trim() === '' ? `${line}\n` : `${line}\n${output.trimEnd()}\n`;
}
