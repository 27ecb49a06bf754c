import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { entryPeers, readManifest } from './packages.ts';
import { root } from './root.ts';
import { runCommand } from './run-command.ts';
import { reachable } from './reachable-modules.ts';

/** One bundle in the output of `size-limit --json`. */
interface Measured {
  readonly name: string;
  readonly passed: boolean;
  /** Size in bytes, minified and gzipped. */
  readonly size: number;
}

interface Row {
  readonly what: string;
  readonly value: string;
  readonly budget: string;
  readonly ok: boolean;
}

const rows = [...(await bundleRows()), dependencyRow(), ...entryRows()];
const width = (key: 'what' | 'value'): number => Math.max(...rows.map((row) => row[key].length));
for (const { what, value, budget, ok } of rows) {
  console.log(
    `${ok ? 'ok  ' : 'OVER'}  ${what.padEnd(width('what'))}  ${value.padStart(width('value'))}  budget ${budget}`,
  );
}
process.exitCode = rows.every((row) => row.ok) ? 0 : 1;

async function bundleRows(): Promise<readonly Row[]> {
  const budgets = JSON.parse(readFileSync(`${root}/.size-limit.json`, 'utf8')) as readonly {
    name: string;
    limit: string;
  }[];
  const { output } = await runCommand('size-limit', ['--json']);
  const measured = parseMeasured(output);
  return budgets.map(({ name, limit }) => {
    const found = measured.find((one) => one.name === name);
    if (!found) throw new Error(`size-limit did not report "${name}":\n${output}`);
    return {
      what: `${name}, gzip`,
      value: `${(found.size / 1000).toFixed(2)} kB`,
      budget: limit,
      ok: found.passed,
    };
  });
}

/**
 * Parses the output of size-limit. If a bundle could not be built, prints the error and ends the
 * process.
 */
function parseMeasured(output: string): readonly Measured[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    parsed = { error: output };
  }
  if (Array.isArray(parsed)) return parsed as readonly Measured[];
  const { error } = parsed as { error?: string };
  console.error(
    `No bundle could be measured. Run "npm run build" first.\n${stripVTControlCharacters(error ?? output)}`,
  );
  process.exit(1);
}

function dependencyRow(): Row {
  const count = Object.keys(readManifest('core').dependencies ?? {}).length;
  return {
    what: 'runtime dependencies of core',
    value: String(count),
    budget: '0',
    ok: count === 0,
  };
}

/**
 * Checks that each entry of core imports no packages except its peer dependencies, and no other
 * entries.
 */
function entryRows(): readonly Row[] {
  const dist = `${root}/packages/core/dist`;
  const entries = Object.entries(readManifest('core').exports).flatMap(([key, target]) =>
    typeof target === 'string' ? [] : { key, file: target.default.replace('./dist/', '') },
  );
  return entries
    .filter(({ key }) => key !== './testing')
    .map(({ key, file: entry }) => {
      const { files, packages } = reachable(`${dist}/${entry}`);
      const others = entries.flatMap(({ file }) =>
        file !== entry && files.has(`${dist}/${file}`) ? file : [],
      );
      const peers = entryPeers[`@isoloop/core${key.slice(1)}`] ?? [];
      const extra = [...[...packages].filter((name) => !peers.includes(name)), ...others];
      return {
        what: `packages and other entries that core's ${entry} pulls in`,
        value: extra.length > 0 ? extra.join(', ') : 'none',
        budget: peers.join(', ') || 'none',
        ok: extra.length === 0,
      };
    });
}
