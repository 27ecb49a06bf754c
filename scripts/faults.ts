import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FaultReport } from '../test/faults/inject-faults.ts';
import { ensureChromium } from './install-chromium.ts';
import { runCommand } from './run-command.ts';

// `npm run faults` ends the process of a conversation at every possible point and prints what was
// lost.

interface Tried extends FaultReport {
  readonly store: string;
}

const runs: readonly (readonly [project: string, file: string])[] = [
  ['node', 'packages/core/src/memory/scenarios/killed-hosts.test.ts'],
  ['browser', 'packages/web-worker/src/scenarios/faults.test.ts'],
  ['workerd', 'packages/edge/src/durable/durable-store-faults.test.ts'],
];

await ensureChromium();
let failed = false;
console.log(['scenario', 'store', 'points', 'kills', 'losses'].map(pad).join(''));
for (const [project, file] of runs) {
  const { ok, reports, output } = await tried(project, file);
  for (const { scenario, store, points: all, kills, faults } of reports) {
    console.log(
      [scenario, store, String(all), String(kills), String(faults.length)].map(pad).join(''),
    );
    for (const fault of faults) console.log(`  ${fault}`);
  }
  failed ||= !ok;
  if (!ok) console.error(output);
}
process.exitCode = failed ? 1 : 0;

function pad(text: string, column: number): string {
  return column < 2 ? text.padEnd([38, 40][column]!) : text.padStart(8);
}

async function tried(
  project: string,
  file: string,
): Promise<{ readonly ok: boolean; readonly reports: readonly Tried[]; readonly output: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'faults-'));
  const outputFile = join(folder, 'report.json');
  try {
    const { ok, output } = await runCommand(
      'vitest',
      ['run', '--project', project, file, '--reporter=json', `--outputFile=${outputFile}`],
      {
        env: { TEST_SUITE: 'long' },
        silenceMs: 3_600_000,
      },
    );
    const { testResults } = JSON.parse(readFileSync(outputFile, 'utf8')) as {
      readonly testResults: readonly {
        readonly assertionResults: readonly { readonly meta?: { readonly faults?: Tried } }[];
      }[];
    };
    return {
      ok,
      output,
      reports: testResults.flatMap(({ assertionResults }) =>
        assertionResults.flatMap(({ meta }) => meta?.faults ?? []),
      ),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
