import { Writable } from 'node:stream';
import { startVitest } from 'vitest/node';
import { ProgressReporter } from './progress-reporter.ts';
import type { TestReport } from './test-report.ts';

// Runs one Vitest project and reports to the parent process: run-vitest.ts PROJECT [FILE FILTER…]

const [project = '', ...filters] = process.argv.slice(2);
const send = (report: TestReport): void => void process.send?.(report);
const errors = new Writable({
  write(text: Buffer, _encoding, done) {
    send({ type: 'output', text: text.toString() });
    done();
  },
});
const vitest = await startVitest(
  'test',
  filters,
  { project: [project], run: true, passWithNoTests: filters.length > 0, reporters: [new ProgressReporter(send)] },
  {},
  { stderr: errors },
);
await vitest?.close();
process.disconnect?.();
