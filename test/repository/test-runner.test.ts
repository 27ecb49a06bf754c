import { expect, test } from 'vitest';
import { runCommand } from '../../scripts/run-command.ts';
import { chooseSteps } from '../../scripts/test/choose-steps.ts';
import type { Suite } from '../../scripts/test/suite-files.ts';
import { runSteps } from '../../scripts/test/run-steps.ts';
import { addReport, noProgress, progressText } from '../../scripts/test/progress.ts';
import type { Step, StepResult } from '../../scripts/test/step.ts';
import { fakeClock } from '../clock/fake-clock.ts';

const step = (name: string, runsTestFiles = false, runsIn: Step['runsIn'] = 'both'): Step => ({
  name,
  about: '',
  runsIn,
  runsTestFiles,
  run: async (): Promise<StepResult> => ({ passed: 1, failed: 0, output: '' }),
});
const steps = [
  step('types'),
  step('node', true),
  step('workerd', true),
  step('lint', false, 'quick'),
  step('publint core', false, 'rest'),
  step('publint edge', false, 'rest'),
];

test.for<readonly [args: readonly string[], names: readonly string[], filters: readonly string[]]>([
  [[], ['types', 'node', 'workerd', 'lint'], []],
  [['node'], ['node'], []],
  [['publint'], ['publint core', 'publint edge'], []],
  [['node', 'packages/core/src/message'], ['node'], ['packages/core/src/message']],
  [['packages/core/src/message'], ['node', 'workerd'], ['packages/core/src/message']],
])('npm test with the arguments %j selects the steps %j', ([args, names, filters]) => {
  const choice = chooseSteps(steps, args, 'quick');
  if ('unknown' in choice) throw new Error(choice.unknown.join());
  expect([choice.steps.map(({ name }) => name), choice.filters]).toEqual([names, filters]);
});

test.for<readonly [suite: Suite, names: string]>([
  ['quick', 'types node workerd lint'],
  ['rest', 'types node workerd publint core publint edge'],
  ['long', 'types node workerd lint publint core publint edge'],
])('the suite %s has the steps %s', ([suite, names]) => {
  const choice = chooseSteps(steps, [], suite);
  if ('unknown' in choice) throw new Error(choice.unknown.join());
  expect(choice.steps.map(({ name }) => name).join(' ')).toBe(names);
});

test('chooseSteps() returns the name of an unknown step', () => {
  expect(chooseSteps(steps, ['nod', 'node'], 'quick')).toEqual({ unknown: ['nod'] });
});

test('runSteps() runs two steps at a time, in their order, and each after the steps that it names', async () => {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const all: readonly Step[] = [
    { ...step('types'), needs: ['not in the list'] },
    { ...step('build'), needs: ['types'] },
    step('browser'),
    { ...step('leaks'), after: ['browser'] },
    step('size'),
  ];
  const done = runSteps(all, {
    lanes: 2,
    async run({ name }) {
      log.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return { passed: 0, failed: name === 'browser' ? 1 : 0, output: '' };
    },
    onEnd: ({ name }, { failed }) => void log.push(`${name} ${failed ? 'failed' : 'ok'}`),
  });
  const end = async (name: string): Promise<readonly string[]> => {
    ends.get(name)!();
    await expect.poll(() => log.join()).toMatch(new RegExp(`${name} (ok|failed)`));
    await Promise.resolve();
    return log.splice(0);
  };
  expect(log.splice(0)).toEqual(['types', 'browser']);
  expect(await end('types')).toEqual(['types ok', 'build']);
  expect(await end('build')).toEqual(['build ok', 'size']);
  expect(await end('browser')).toEqual(['browser failed', 'leaks']);
  expect(await end('size')).toEqual(['size ok']);
  expect(await end('leaks')).toEqual(['leaks ok']);
  await done;
});

test('runSteps() does not run a step that needs a failed one', async () => {
  const ended: unknown[] = [];
  await runSteps(
    [step('types'), { ...step('build'), needs: ['types'] }, { ...step('e2e'), needs: ['build'] }],
    {
      lanes: 2,
      run: async () => ({ passed: 0, failed: 1, output: 'wrong' }),
      onEnd: ({ name }, { output }) => void ended.push([name, output]),
    },
  );
  expect(ended).toEqual([
    ['types', 'wrong'],
    ['build', 'Not run: types failed.'],
    ['e2e', 'Not run: build failed.'],
  ]);
});

test('addReport() adds up reports and keeps the names of running files and tests', () => {
  const progress = noProgress();
  addReport(progress, { type: 'files', count: 2 });
  addReport(progress, { type: 'file-start', file: 'a.test.ts' });
  for (const [name, state] of [
    ['one', 'passed'],
    ['two', 'failed'],
    ['three', 'skipped'],
  ] as const) {
    addReport(progress, { type: 'test-start', file: 'a.test.ts', name });
    addReport(progress, { type: 'test-end', file: 'a.test.ts', name, state });
  }
  // A report may arrive late.
  addReport(progress, { type: 'test-start', file: 'a.test.ts', name: 'one' });
  addReport(progress, { type: 'file-end', file: 'a.test.ts' });
  addReport(progress, { type: 'stray-error' });
  addReport(progress, { type: 'test-start', file: 'b.test.ts', name: 'four' });
  expect(progressText(progress)).toBe('1 of 2 files, 1 passed, 2 failed');
  expect(progress.skipped).toBe(1);
  expect(progress.failures).toEqual(['a.test.ts > two']);
  expect([...progress.running]).toEqual(['b.test.ts > four']);
});

const silenceMs = 60_000;

test('runCommand() stops a command without reports, and the processes that the command started', async () => {
  const clock = fakeClock();
  const hang = 'setInterval(() => {}, 1000)';
  // The child keeps the pipes open, so `runCommand()` resolves only after the child has ended, too.
  const start = `require('node:child_process').spawn(process.execPath, ['-e', '${hang}'], { stdio: 'inherit' })`;
  const onMessage = (): void => void clock.advanceSync(silenceMs);
  const { ok, output } = await runCommand(
    'node',
    ['-e', `${start}; ${hang}; process.send('ready')`],
    { silenceMs, onMessage },
  );
  expect(ok).toBe(false);
  expect(output).toContain('Stopped after 1 minutes without a report: node -e');
});

test('runCommand() has no time limit for a command that keeps reporting', async () => {
  const clock = fakeClock();
  const source =
    'let n = 0; const timer = setInterval(() => { process.send(n); if (++n === 5) process.exit(); }, 10);';
  const messages: unknown[] = [];
  const onMessage = (message: unknown): void => {
    messages.push(message);
    clock.advanceSync(silenceMs - 1);
  };
  expect(await runCommand('node', ['-e', source], { silenceMs, onMessage })).toEqual({
    ok: true,
    output: '',
  });
  expect(messages).toEqual([0, 1, 2, 3, 4]);
});
