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
  { name: 'chromium', about: 'a browser for the tests', runsIn: 'both', run: chromium },
  {
    name: 'types',
    about: 'TypeScript, all packages and tests',
    runsIn: 'both',
    run: () => command('tsc', '-b'),
  },
  {
    name: 'lint',
    about: 'oxlint',
    runsIn: 'quick',
    run: () => command('oxlint', '--deny-warnings'),
  },
  {
    name: 'layers',
    about: 'which folder may import which',
    runsIn: 'quick',
    run: () => command('node', 'scripts/check-layers.ts'),
  },
  { name: 'format', about: 'oxfmt', runsIn: 'quick', run: () => command('oxfmt', '--check') },
  {
    name: 'build',
    about: 'the demo',
    runsIn: 'rest',
    needs: ['types'],
    run: () => command('vite', 'build'),
  },
  {
    name: 'docs',
    about: 'the documentation site',
    runsIn: 'rest',
    needs: ['types'],
    run: () => command('node', 'scripts/docs/build.ts', '--if-changed'),
  },
  vitestStep({
    name: 'node',
    about: 'core, and checks of the docs',
    runsIn: 'both',
    needs: ['types'],
  }),
  vitestStep({ name: 'workerd', about: 'edge, and what core needs of it', runsIn: 'both' }),
  vitestStep({
    name: 'browser',
    about: 'web-worker in Chromium',
    runsIn: 'both',
    needs: ['chromium'],
  }),
  vitestStep({
    name: 'leaks',
    about: 'objects that a page keeps',
    runsIn: 'rest',
    needs: ['chromium'],
    after: ['browser'],
  }),
  vitestStep({
    name: 'e2e',
    about: 'the demo and the READMEs, as users meet them',
    runsIn: 'rest',
    needs: ['chromium', 'types', 'build', 'docs'],
  }),
  {
    name: 'deploy',
    about: 'what would be deployed',
    runsIn: 'rest',
    needs: ['types', 'build', 'docs'],
    run: () => command('node', 'scripts/deploy.ts', '--dry-run'),
  },
  {
    name: 'size',
    about: 'limits of bundles',
    runsIn: 'rest',
    needs: ['types'],
    run: () => command('node', 'scripts/size.ts'),
  },
  {
    name: 'bench',
    about: 'each benchmark once, with its smallest workload',
    runsIn: 'rest',
    needs: ['chromium', 'types'],
    run: () => command('node', 'scripts/bench-smallest.ts'),
  },
  {
    name: 'publint',
    about: 'the published packages',
    runsIn: 'rest',
    needs: ['types'],
    run: () => inEachPackage('publint', '--strict'),
  },
  {
    name: 'attw',
    about: 'types of the published packages',
    runsIn: 'rest',
    needs: ['types'],
    run: () => inEachPackage('attw', ...attwOptions, '--pack'),
  },
  {
    name: 'packed',
    about: 'imports of the packed packages',
    runsIn: 'rest',
    needs: ['types'],
    run: async () => withNote(await checkPackedImports()),
  },
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
