import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { entryPeers, packageFolders, readManifest, type PackageManifest } from './packages.ts';
import { root } from './root.ts';
import { runCommand, type CommandResult } from './run-command.ts';

/**
 * Packs and unpacks every package, as npm does for a user, and imports each of its entries in plain
 * Node.
 */
export async function checkPackedImports(): Promise<CommandResult> {
  const folder = mkdtempSync(join(tmpdir(), 'isoloop-packed-'));
  try {
    return await packAndImport(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function packAndImport(folder: string): Promise<CommandResult> {
  const manifests = packageFolders.map(readManifest);
  const paths = packageFolders.map((name) => `./packages/${name}`);
  const packed = await runCommand('npm', [
    'pack',
    '--silent',
    '--pack-destination',
    folder,
    ...paths,
  ]);
  if (!packed.ok) return packed;
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.tgz'))) {
    const target = join(
      folder,
      'node_modules',
      file.replace(/^isoloop-/, '@isoloop/').replace(/-\d.*$/, ''),
    );
    mkdirSync(target, { recursive: true });
    const unpacked = await runCommand('tar', [
      '-xzf',
      join(folder, file),
      '-C',
      target,
      '--strip-components=1',
    ]);
    if (!unpacked.ok) return unpacked;
  }
  const dependencies = manifests.flatMap((manifest) => Object.keys(manifest.dependencies ?? {}));
  for (const name of [...dependencies, ...Object.values(entryPeers).flat()]) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(join(root, 'node_modules', name), link);
  }
  const entries = manifests.flatMap(entriesOf);
  const source = entries.map((entry) => `await import(${JSON.stringify(entry)});`).join('\n');
  const imported = await runCommand('node', ['--input-type=module', '-e', source], { cwd: folder });
  return imported.ok ? { ok: true, output: `${entries.length} entries import` } : imported;
}

/**
 * Returns the entries of a package, except `./testing`. That entry imports vitest, which only loads
 * while tests run.
 */
function entriesOf({ name, exports }: PackageManifest): readonly string[] {
  return Object.keys(exports)
    .filter((key) => key !== './package.json' && key !== './testing')
    .map((key) => name + key.slice(1));
}
