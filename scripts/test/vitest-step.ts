import { runCommand } from '../run-command.ts';
import { addReport, noProgress, progressText, type Progress } from './progress.ts';
import type { Step, StepContext, StepResult } from './step.ts';
import type { TestReport } from './test-report.ts';

/**
 * Maximum time without a report, in minutes. It must exceed the limits in `vitest.config.ts`, so
 * that Vitest reports a hanging test first.
 */
const silenceMinutes = { quick: 8, long: 30 };

export type VitestStepOptions = Pick<Step, 'name' | 'about' | 'runsIn' | 'needs' | 'after'>;

/**
 * A step that runs the Vitest project of its name in `vitest.config.ts`, and shows its progress.
 * Skipped tests count as failed.
 */
export function vitestStep(options: VitestStepOptions): Step {
  return { ...options, runsTestFiles: true, run: (context) => runProject(options.name, context) };
}

async function runProject(name: string, { filters, status }: StepContext): Promise<StepResult> {
  const progress = noProgress();
  const onMessage = (message: unknown): void => {
    const report = message as TestReport;
    addReport(progress, report);
    if (report.type === 'output') status.print(report.text);
    else status.show(name, progressText(progress));
  };
  const { ok, output } = await runCommand(
    'node',
    ['scripts/test/run-vitest.ts', name, ...filters],
    {
      env: { CI: 'true', ...(!process.stdout.isTTY && { NO_COLOR: '1' }) },
      onMessage,
      silenceMs:
        60_000 *
        (process.env['TEST_SUITE'] === 'long' ? silenceMinutes.long : silenceMinutes.quick),
    },
  );
  const problems = problemsOf(progress);
  if (progress.passed === 0 && filters.length === 0) problems.push('No test passed.\n');
  const found = progress.failed + progress.skipped + progress.strayErrors;
  const failed = found === 0 && (!ok || problems.length > 0) ? 1 : found;
  // If tests have failed, their failures explain why the process failed, and they are already
  // printed. In all other cases the output is the explanation.
  const isExplained = !ok && found > 0 && progress.running.size === 0 && !/^Stopped /m.test(output);
  const explanation = isExplained ? '' : output;
  return {
    passed: progress.passed,
    failed,
    note: `${progress.passed} tests`,
    output: [explanation, ...problems].join('\n'),
    failures: progress.failures,
  };
}

function problemsOf({ running, skipped }: Progress): string[] {
  const problems: string[] = [];
  if (running.size > 0) {
    const list = [...running].map((name) => `  ${name}\n`).join('');
    problems.push(`Still running when the process ended:\n${list}`);
  }
  if (skipped > 0) problems.push(`${skipped} tests were skipped; npm test allows none.\n`);
  return problems;
}
