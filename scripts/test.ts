import { onStop } from './on-stop.ts';
import { killCommands } from './run-command.ts';
import { chooseSteps } from './test/choose-steps.ts';
import { StatusLine } from './test/status-line.ts';
import type { Step, StepContext, StepResult } from './test/step.ts';
import { steps } from './test/steps.ts';

// Usage: npm test [-- STEP… PATH…]. With --long, every test of core runs in every engine, with all
// random cases.

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
const context: StepContext = { filters: choice.filters, status: new StatusLine() };
const failedSteps = new Set<string>();
let passed = 0;
let failed = 0;
let testsRun = 0;
for (const step of choice.steps) {
  const begin = Date.now();
  context.status.begin();
  if (process.stdout.isTTY) context.status.show(`        ${step.name}`);
  const result = await runStep(step);
  context.status.clear();
  if (step.runsTestFiles) testsRun += result.passed + result.failed;
  passed += result.passed;
  failed += result.failed;
  if (result.failed > 0) failedSteps.add(step.name);
  print(step, result, Date.now() - begin);
}
if (choice.filters.length > 0 && testsRun === 0) {
  console.error(`No test file of these steps matches ${choice.filters.join(' ')}.`);
  failed += 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

async function runStep(step: Step): Promise<StepResult> {
  const missing = step.needs?.filter((name) => failedSteps.has(name)) ?? [];
  if (missing.length > 0) {
    return { passed: 0, failed: 1, output: `Not run: ${missing.join(', ')} failed.` };
  }
  return step.run(context);
}

function print(
  { name }: Step,
  { failed: failures, note, output }: StepResult,
  durationMs: number,
): void {
  const mark = failures > 0 ? 'FAILED' : 'ok    ';
  const line = `${mark}  ${name.padEnd(20)} ${(durationMs / 1000).toFixed(1).padStart(6)} s`;
  console.log(note && failures === 0 ? `${line}  ${note}` : line);
  if (failures > 0 && output.trim() !== '') console.log(output.trimEnd());
}
