import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entryPeers } from './packages.ts';
import { root } from './root.ts';
import { runCommand, type CommandResult } from './run-command.ts';

/** Entries whose types need the types of an optional peer, besides the ones in `entryPeers`. */
const withPeerTypes = ['@isoloop/core/open-telemetry', '@isoloop/mcp'];

const isForEdge = (entry: string): boolean => /^@isoloop\/(edge|openai-api)/.test(entry);

/** Globals of the platforms. A program has the globals of one platform only. */
const platforms = [
  { name: 'page', isFor: (entry: string) => !isForEdge(entry), options: page() },
  { name: 'edge', isFor: isForEdge, options: edge() },
];

/**
 * Checks the declarations of entries that need no peer, without `skipLibCheck`. `folder` has the
 * packages in its `node_modules`.
 */
export async function checkPackedTypes(
  folder: string,
  entries: readonly string[],
): Promise<CommandResult> {
  const peers = new Set([...Object.keys(entryPeers), ...withPeerTypes]);
  const checked = entries.filter((entry) => !peers.has(entry));
  const libraries = 'node_modules/@cloudflare';
  symlinkSync(join(root, libraries), join(folder, libraries), 'junction');
  for (const { name, isFor, options } of platforms) {
    const lines = checked
      .filter(isFor)
      .map((entry, index) => `export * as entry${index} from ${JSON.stringify(entry)};`);
    writeFileSync(join(folder, `${name}.ts`), lines.join('\n'));
    const compilerOptions = {
      target: 'es2023',
      module: 'esnext',
      moduleResolution: 'bundler',
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
      ...options,
    };
    const config = join(folder, `tsconfig.${name}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions, files: [`${name}.ts`] }));
    const result = await runCommand('tsc', ['-p', config]);
    if (!result.ok) return result;
  }
  return { ok: true, output: '' };
}

function page(): object {
  return { lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] };
}

function edge(): object {
  return { lib: ['es2023'], types: ['@cloudflare/workers-types'] };
}
