import { parseArgs } from 'node:util';
import { chooseSteps } from './test/choose-steps.ts';
import { StatusLine } from './test/status-line.ts';
import type { Step, StepContext, StepResult } from './test/step.ts';
import { steps } from './test/steps.ts';

// npm test [-- STEP… FILE…]; with --long: every core test in every engine, and random tests in full.

const { values, positionals } = parseArgs({ options: { long: { type: 'boolean' } }, allowPositionals: true });
if (values.long) process.env['TEST_LONG'] = '1';
const choice = chooseSteps(steps, positionals);
if ('unknown' in choice) {
  console.error(`No such step: ${choice.unknown.join(', ')}. There are: ${steps.map(({ name }) => name).join(', ')}.`);
  process.exit(1);
}

const context: StepContext = { filters: choice.filters, status: new StatusLine() };
const failedSteps = new Set<string>();
let passed = 0;
let failed = 0;
for (const step of choice.steps) {
  const begin = Date.now();
  context.status.begin();
  const result = await runStep(step);
  passed += result.passed;
  failed += result.failed;
  if (result.failed > 0) failedSteps.add(step.name);
  print(step, result, Date.now() - begin);
}
if (passed + failed === 0) {
  console.error(`No test file matches ${choice.filters.join(' ')}.`);
  failed = 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

async function runStep(step: Step): Promise<StepResult> {
  const missing = step.needs?.filter((name) => failedSteps.has(name)) ?? [];
  if (missing.length > 0) {
    return { passed: 0, failed: 1, output: `Not run, because this failed: ${missing.join(', ')}.` };
  }
  return step.run(context);
}

function print({ name }: Step, { failed: failures, note, output }: StepResult, durationMs: number): void {
  const mark = failures > 0 ? 'FAILED' : 'ok    ';
  const line = `${mark}  ${name.padEnd(20)} ${(durationMs / 1000).toFixed(1).padStart(6)} s`;
  console.log(note && failures === 0 ? `${line}  ${note}` : line);
  if (failures > 0 && output.trim() !== '') console.log(output.trimEnd());
}
