import { runCommand } from '../run-command.ts';
import { addReport, noProgress, progressText, type Progress } from './progress.ts';
import type { Step, StepContext, StepResult } from './step.ts';
import type { TestReport } from './test-report.ts';

/** Longer than the time limits in `vitest.config.ts`, so that those report first. */
const silenceMinutes = { quick: 8, long: 30 };

export interface VitestStepOptions {
  readonly name: string;
  /** The project in `vitest.config.ts`; default: the step's name. */
  readonly project?: string;
  readonly needs?: readonly string[];
}

/** A step that runs one Vitest project and shows its progress. Skipped tests count as failed. */
export function vitestStep({ name, project = name, needs = [] }: VitestStepOptions): Step {
  return { name, needs, runsTestFiles: true, run: (context) => runProject(name, project, context) };
}

async function runProject(name: string, project: string, { filters, status }: StepContext): Promise<StepResult> {
  const progress = noProgress();
  const onMessage = (message: unknown): void => {
    const report = message as TestReport;
    addReport(progress, report);
    if (report.type === 'output') status.print(report.text);
    else status.show(`        ${name}: ${progressText(progress)}`);
  };
  const { ok, output } = await runCommand('node', ['scripts/test/run-vitest.ts', project, ...filters], {
    env: { CI: 'true' },
    onMessage,
    silenceMs: 60_000 * (process.env['TEST_LONG'] ? silenceMinutes.long : silenceMinutes.quick),
  });
  status.clear();
  return stepResult(progress, { ok, output, mayBeEmpty: filters.length > 0 });
}

interface Outcome {
  readonly ok: boolean;
  readonly output: string;
  readonly mayBeEmpty: boolean;
}

function stepResult(progress: Progress, { ok, output, mayBeEmpty }: Outcome): StepResult {
  const { passed, skipped, running } = progress;
  const failed = progress.failed + skipped + progress.strayErrors;
  const note = `${passed} tests`;
  if (running.size > 0) {
    const list = [...running].map((name) => `  ${name}\n`).join('');
    return { passed, failed: failed + 1, note, output: `${output}\nRunning at that moment:\n${list}` };
  }
  if (skipped > 0) {
    return { passed, failed, note, output: `${skipped} tests were skipped. Here every test has to run.\n` };
  }
  if (failed > 0) return { passed, failed, note, output: '' };
  const empty = passed === 0 && !mayBeEmpty;
  return { passed, failed: ok && !empty ? 0 : 1, note, output };
}
