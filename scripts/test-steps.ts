import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFolders } from './packages.ts';
import { checkPackedImports } from './packed-imports.ts';
import { ensureChromium } from './install-chromium.ts';
import { runCommand, type CommandResult } from './run-command.ts';

/** What a step of `npm test` came to. A step without tests of its own counts as one. */
export interface StepResult {
  readonly passed: number;
  readonly failed: number;
  /** A word for the line of a green step. */
  readonly note?: string;
  /** All of its output, shown when it failed. */
  readonly output: string;
}

export interface Step {
  readonly name: string;
  /** Names of steps without whose success it is not worth running. */
  readonly needs?: readonly string[];
  run(): Promise<StepResult>;
}

/** In order; one after another, because Chromium and workerd beside each other starve on two cores. */
export const steps: readonly Step[] = [
  { name: 'chromium', run: chromium },
  { name: 'types', run: () => command('tsc', '-b') },
  { name: 'lint', run: () => command('oxlint', '--deny-warnings') },
  { name: 'layers', run: () => command('node', 'scripts/check-layers.ts') },
  { name: 'format', run: () => command('oxfmt', '--check') },
  { name: 'build', run: () => command('vite', 'build') },
  { name: 'node', needs: ['types'], run: () => vitest('node') },
  { name: 'workerd', run: () => vitest('workerd') },
  { name: 'browser', needs: ['chromium'], run: () => vitest('chromium') },
  { name: 'e2e', needs: ['chromium', 'types', 'build'], run: () => vitest('e2e') },
  { name: 'deploy', needs: ['types', 'build'], run: () => command('wrangler', 'deploy', '--dry-run') },
  { name: 'size', needs: ['types'], run: () => command('node', 'scripts/size.ts') },
  ...packageFolders.flatMap((folder): Step[] => [
    { name: `publint ${folder}`, needs: ['types'], run: () => command('publint', '--strict', `packages/${folder}`) },
    {
      name: `attw ${folder}`,
      needs: ['types'],
      run: () => command('attw', '--profile', 'esm-only', '--no-emoji', '--pack', `packages/${folder}`),
    },
  ]),
  { name: 'packed', needs: ['types'], run: async () => withNote(await checkPackedImports()) },
];

/** The Chromium found is the one the later steps use. */
async function chromium(): Promise<StepResult> {
  const result = await ensureChromium();
  if (result.ok) process.env['CHROMIUM_PATH'] = result.output;
  return withNote(result);
}

async function command(name: string, ...args: readonly string[]): Promise<StepResult> {
  return counted(await runCommand(name, args));
}

function counted({ ok, output }: CommandResult): StepResult {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, output };
}

function withNote(result: CommandResult): StepResult {
  return { ...counted(result), note: result.output.trim() };
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
}

/** Runs one vitest project and counts its tests; a skipped test counts as failed, and so does a run that found none. */
async function vitest(project: string): Promise<StepResult> {
  const folder = mkdtempSync(join(tmpdir(), 'isoloop-test-'));
  const reportFile = join(folder, 'report.json');
  try {
    const args = ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
    const { ok, output } = await runCommand('vitest', args, { env: { CI: 'true', NO_COLOR: '1' } });
    const report = readReport(reportFile);
    if (!report) return { passed: 0, failed: 1, output };
    const passed = report.numPassedTests;
    const skipped = report.numPendingTests + report.numTodoTests;
    const failed = report.numFailedTests + skipped;
    const nothingSaysWhy = failed === 0 && (!ok || passed === 0);
    return {
      passed,
      failed: nothingSaysWhy ? 1 : failed,
      note: `${passed} tests`,
      output: skipped > 0 ? `${output}\n${skipped} tests were skipped; here every test has to run.\n` : output,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(file: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch {
    return undefined;
  }
}
