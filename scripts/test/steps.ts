import { ensureChromium } from '../install-chromium.ts';
import { packageFolders } from '../packages.ts';
import { checkPackedImports } from '../packed-imports.ts';
import { runCommand, type CommandResult } from '../run-command.ts';
import { resultOf, type Step, type StepResult } from './step.ts';
import { vitestStep } from './vitest-step.ts';

/**
 * All steps in order. Several run at the same time. The leaks wait for the browser's tests, because
 * both write Vite's cache of dependencies.
 */
export const steps: readonly Step[] = [
  { name: 'chromium', run: chromium },
  { name: 'types', run: () => command('tsc', '-b') },
  { name: 'lint', run: () => command('oxlint', '--deny-warnings') },
  { name: 'layers', run: () => command('node', 'scripts/check-layers.ts') },
  { name: 'comments', run: () => command('node', 'scripts/check-prose.ts') },
  { name: 'format', run: () => command('oxfmt', '--check') },
  { name: 'build', needs: ['types'], run: () => command('vite', 'build') },
  { name: 'docs', needs: ['types'], run: () => command('node', 'scripts/docs/build.ts') },
  vitestStep({ name: 'node', needs: ['types'] }),
  vitestStep({ name: 'workerd' }),
  vitestStep({ name: 'browser', needs: ['chromium'] }),
  vitestStep({ name: 'leaks', needs: ['chromium'], after: ['browser'] }),
  vitestStep({ name: 'e2e', needs: ['chromium', 'types', 'build', 'docs'] }),
  {
    name: 'deploy',
    needs: ['types', 'build', 'docs'],
    run: () => command('node', 'scripts/deploy.ts', '--dry-run'),
  },
  { name: 'size', needs: ['types'], run: () => command('node', 'scripts/size.ts') },
  { name: 'publint', needs: ['types'], run: () => inEachPackage('publint', '--strict') },
  { name: 'attw', needs: ['types'], run: () => inEachPackage('attw', ...attwOptions, '--pack') },
  { name: 'packed', needs: ['types'], run: async () => withNote(await checkPackedImports()) },
];

const attwOptions = ['--profile', 'esm-only', '--no-emoji'];

/** Finds or installs Chromium, and sets `CHROMIUM_PATH` for the later steps. */
async function chromium(): Promise<StepResult> {
  const result = await ensureChromium();
  if (result.ok) process.env['CHROMIUM_PATH'] = result.output;
  return withNote(result);
}

async function command(name: string, ...args: readonly string[]): Promise<StepResult> {
  return resultOf(await runCommand(name, args));
}

/**
 * Runs a command for all packages at the same time. The last argument of the command is the
 * package's folder.
 */
async function inEachPackage(name: string, ...args: readonly string[]): Promise<StepResult> {
  const results = await Promise.all(
    packageFolders.map((folder) => command(name, ...args, `packages/${folder}`)),
  );
  return {
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
    output: results.map(({ output }) => output).join('\n'),
  };
}

function withNote(result: CommandResult): StepResult {
  return { ...resultOf(result), note: result.output.trim() };
}
