import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { runCommand } from '../../scripts/run-command.ts';

test('the line in the README installs the packages into another project', async () => {
  const folder = mkdtempSync(`${tmpdir()}/isoloop-install-`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(root, `${folder}/isoloop`);
  const project = `${folder}/my-app`;
  mkdirSync(project);
  const run = (command: string, ...args: readonly string[]) =>
    runCommand(command, args, { cwd: project, env: { NODE_ENV: '' } });

  const line = /^npm --prefix .* run add$/m.exec(readFileSync(`${root}/README.md`, 'utf8'))?.[0];
  expect(line).toBeDefined();
  const installed = await run('sh', '-c', `npm init -y && ${line}`);
  expect(installed.ok, installed.output).toBe(true);

  const entries = ['@isoloop/core', '@isoloop/core/openai', '@isoloop/web-worker', '@isoloop/edge'];
  const imports = [...entries, 'zod'].map((entry) => `await import('${entry}');`).join('\n');
  const imported = await run('node', '--input-type=module', '-e', imports);
  expect(imported.ok, imported.output).toBe(true);
});

test('one command creates a project from a template with its packages', async () => {
  const folder = mkdtempSync(`${tmpdir()}/isoloop-create-`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(root, `${folder}/isoloop`);
  const page = readFileSync(`${root}/packages/create-isoloop/README.md`, 'utf8');
  const line = /^npm --prefix .* run create .*$/m.exec(page)?.[0];
  expect(line).toBeDefined();
  const run = (cwd: string, text: string) =>
    runCommand('sh', ['-c', text], { cwd, env: { NODE_ENV: '' } });

  const created = await run(folder, line!);
  expect(created.ok, created.output).toBe(true);
  const checked = await run(`${folder}/my-app`, 'npm run typecheck');
  expect(checked.ok, checked.output).toBe(true);
  const again = await run(folder, line!);
  expect(again).toMatchObject({ ok: false, output: expect.stringContaining('is not empty') });
});
