import { Writable } from 'node:stream';
import { startVitest } from 'vitest/node';
import { ProgressReporter } from './progress-reporter.ts';
import type { TestReport } from './test-report.ts';

// Runs one Vitest project and reports to the parent process: run-vitest.ts PROJECT [FILE FILTER…]

const [project = '', ...filters] = process.argv.slice(2);
const send = (report: TestReport): void => void process.send?.(report);
// Vitest prints failures to stderr. This stream sends them to the parent process at once.
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
// Exits when the parent process has all reports. An open handle of a test must not keep this
// process alive.
process.send?.({ type: 'output', text: '' } satisfies TestReport, () => process.exit());
