import { Writable } from 'node:stream';
import { startVitest } from 'vitest/node';
import { ProgressReporter } from './progress-reporter.ts';
import type { TestReport } from './test-report.ts';

// Runs one Vitest project and reports to the parent process: run-vitest.ts PROJECT [FILE FILTER…]

const [project = '', ...filters] = process.argv.slice(2);
const send = (report: TestReport): void => void process.send?.(report);
// Vitest prints failures to stderr. They go to the parent at once, while the run continues.
const errors = new Writable({
  decodeStrings: false,
  write(text: string, _encoding, done) {
    send({ type: 'output', text });
    done();
  },
});
const vitest = await startVitest(
  'test',
  filters,
  {
    project: [project],
    run: true,
    passWithNoTests: filters.length > 0,
    reporters: [new ProgressReporter(send)],
  },
  {},
  { stderr: errors },
);
await vitest?.close();
// Waits only until the parent has all reports: a handle that a test left open must not hang the
// step.
process.send?.({ type: 'output', text: '' } satisfies TestReport, () => process.exit());
