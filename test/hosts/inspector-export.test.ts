import { spawn } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryStore, SessionMemory, type Msg } from '@isoloop/core';
import { localHost } from '../faults/inject-faults.ts';
import { makeWitness } from '../faults/mortal-process.ts';
import { expect, onTestFinished, test } from 'vitest';
import { loggedTurns } from '../../packages/inspector/src/steps/log-turns.ts';
import { testFile } from '../../packages/inspector/src/steps/test-file.ts';
import { root } from '../../scripts/root.ts';
import { faultScenarios } from '../faults/fault-scenarios.ts';

/** Writes a test for each turn of each scenario, as the inspector exports it. */
async function exported(): Promise<readonly string[]> {
  const sources: string[] = [];
  for (const scenario of faultScenarios()) {
    const store = new MemoryStore();
    await localHost(scenario, store).live(makeWitness(), { generation: 0 });
    const messages = await new SessionMemory(store, 's').read();
    sources.push(...loggedTurns(messages).map((turn) => testFile(turn).source));
  }
  const waits = await approvalThatWaits();
  return [...sources, ...loggedTurns(waits).map((turn) => testFile(turn).source)];
}

/** Returns the messages of a turn whose tool call nobody has approved. */
async function approvalThatWaits(): Promise<readonly Msg[]> {
  const scenario = faultScenarios().find(({ name }) => name === 'approval')!;
  const store = new MemoryStore();
  await localHost(scenario, store).live(makeWitness(), { generation: 0 });
  return (await new SessionMemory(store, 's').read()).slice(0, 3);
}

/** Runs vitest in a folder. Returns its exit code and what it printed. */
function runVitest(
  folder: string,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const vitest = spawn(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, '--reporter=dot'],
    { cwd: folder, env: { ...process.env, NO_COLOR: '1' } },
  );
  let text = '';
  vitest.stdout.on('data', (chunk) => (text += String(chunk)));
  vitest.stderr.on('data', (chunk) => (text += String(chunk)));
  return new Promise((resolve) => vitest.on('close', (code) => resolve({ code, text })));
}

test('the tests that the inspector exports pass', async () => {
  // Vitest compares real paths. On macOS and Windows the temporary folder may be a link.
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'isoloop-export-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const sources = await exported();
  await Promise.all(
    sources.map((source, index) => writeFile(join(folder, `turn-${index}.test.ts`), source)),
  );
  const alias = Object.fromEntries(
    ['index', 'testing'].map((entry) => [
      `@isoloop/core${entry === 'index' ? '' : `/${entry}`}`,
      join(root, `packages/core/src/${entry === 'index' ? 'index' : `${entry}/index`}.ts`),
    ]),
  );
  const named = Object.entries(alias).map(([name, replacement]) => ({
    find: `^${name}$`,
    replacement,
  }));
  await writeFile(
    join(folder, 'vitest.config.mjs'),
    `const named = ${JSON.stringify(named)};
     const alias = named.map(({ find, replacement }) => ({ find: new RegExp(find), replacement }));
     alias.push({ find: /^vitest$/, replacement: ${JSON.stringify(join(root, 'node_modules/vitest/dist/index.js'))} });
     // One worker without isolation loads the library once for all files.
     const test = { pool: 'threads', isolate: false, maxWorkers: 1 };
     export default { resolve: { alias }, server: { fs: { strict: false } }, test };`,
  );
  const { code, text } = await runVitest(folder);
  expect(text.slice(-20_000)).toContain(`Tests  ${sources.length} passed (${sources.length})`);
  expect(code).toBe(0);
});
