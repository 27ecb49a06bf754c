import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { runCommand } from '../../scripts/run-command.ts';

test('the line in the README packs the packages and installs them into another project', async () => {
  const folder = mkdtempSync(`${tmpdir()}/isoloop-install-`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(root, `${folder}/isoloop`);
  const project = `${folder}/my-app`;
  mkdirSync(project);
  const run = (command: string, ...args: readonly string[]) =>
    runCommand(command, args, { cwd: project, env: { NODE_ENV: '' } });

  const line = /^npm pack .*$/m.exec(readFileSync(`${root}/README.md`, 'utf8'))?.[0];
  expect(line).toContain('npm install');
  const installed = await run('sh', '-c', `npm init -y && ${line}`);
  expect(installed.ok, installed.output).toBe(true);

  const entries = ['@isoloop/core', '@isoloop/core/openai', '@isoloop/web-worker', '@isoloop/edge'];
  const imports = [...entries, 'zod'].map((entry) => `await import('${entry}');`).join('\n');
  const imported = await run('node', '--input-type=module', '-e', imports);
  expect(imported.ok, imported.output).toBe(true);
});
