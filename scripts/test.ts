import { steps, type Step, type StepResult } from './test-steps.ts';

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !steps.some((step) => stepMatches(step, name)));
if (unknown.length > 0) {
  console.error(`No such step: ${unknown.join(', ')}. There are: ${steps.map((step) => step.name).join(', ')}.`);
  process.exit(1);
}

const failedSteps = new Set<string>();
let [passed, failed] = [0, 0];
for (const step of steps.filter((one) => wanted.length === 0 || wanted.some((name) => stepMatches(one, name)))) {
  const begin = Date.now();
  const result = await runStep(step);
  passed += result.passed;
  failed += result.failed;
  if (result.failed > 0) failedSteps.add(step.name);
  report(step, result, Date.now() - begin);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

function stepMatches({ name }: Step, wantedName: string): boolean {
  return name === wantedName || name.startsWith(`${wantedName} `);
}

async function runStep(step: Step): Promise<StepResult> {
  const missing = step.needs?.filter((name) => failedSteps.has(name)) ?? [];
  if (missing.length > 0) return { passed: 0, failed: 1, output: `Not run, because this failed: ${missing.join(', ')}.` };
  return step.run();
}

function report({ name }: Step, { failed: failures, note, output }: StepResult, durationMs: number): void {
  const line = `${failures > 0 ? 'FAILED' : 'ok    '}  ${name.padEnd(20)} ${(durationMs / 1000).toFixed(1).padStart(6)} s`;
  console.log(note && failures === 0 ? `${line}  ${note}` : line);
  if (failures > 0) console.log(output.trimEnd());
}
