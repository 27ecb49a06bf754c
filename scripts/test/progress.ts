import type { TestReport } from './test-report.ts';

/** Sum of the reports that a running Vitest project has sent so far. */
export interface Progress {
  files: number;
  filesDone: number;
  passed: number;
  failed: number;
  skipped: number;
  strayErrors: number;
  /** Names of failed tests, `file > title`. */
  readonly failures: string[];
  /** Names of files and tests that have started and not ended. */
  readonly running: Set<string>;
  /** Names of tests that have ended. Vitest may report the start of a short test after its end. */
  readonly ended: Set<string>;
}

export function noProgress(): Progress {
  return {
    files: 0,
    filesDone: 0,
    passed: 0,
    failed: 0,
    skipped: 0,
    strayErrors: 0,
    failures: [],
    running: new Set(),
    ended: new Set(),
  };
}

export function addReport(progress: Progress, report: TestReport): void {
  switch (report.type) {
    case 'files':
      progress.files += report.count;
      return;
    case 'file-start':
      progress.running.add(report.file);
      return;
    case 'file-end':
      progress.running.delete(report.file);
      progress.filesDone += 1;
      return;
    case 'test-start': {
      const title = `${report.file} > ${report.name}`;
      if (!progress.ended.has(title)) progress.running.add(title);
      return;
    }
    case 'test-end': {
      const title = `${report.file} > ${report.name}`;
      progress.running.delete(title);
      progress.ended.add(title);
      progress[report.state] += 1;
      if (report.state === 'failed') progress.failures.push(title);
      return;
    }
    case 'stray-error':
      progress.strayErrors += 1;
      return;
    case 'output':
  }
}

/** Returns a text such as `12 of 45 files, 310 passed, 1 failed`. */
export function progressText({ files, filesDone, passed, failed, strayErrors }: Progress): string {
  return `${filesDone} of ${files} files, ${passed} passed, ${failed + strayErrors} failed`;
}
