import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageProblems } from './packed-files.ts';
import { checkPackedTypes } from './packed-types.ts';
import { entryPeers, packageFolders, readManifest, type PackageManifest } from './packages.ts';
import { removeStaleOutputs } from './stale-outputs.ts';
import { root } from './root.ts';
import { runCommand, type CommandResult } from './run-command.ts';

/**
 * Packs and unpacks every package, as npm does for a user. Checks the files, imports each entry in
 * plain Node, and checks the types without the package that only tests need.
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
  packageFolders.forEach(removeStaleOutputs);
  const packed = await runCommand('npm', [
    'pack',
    '--silent',
    '--pack-destination',
    folder,
    ...paths,
  ]);
  if (!packed.ok) return packed;
  const problems: string[] = [];
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
    problems.push(...packageProblems(target).map((problem) => `${file}: ${problem}`));
  }
  if (problems.length) return { ok: false, output: problems.join('\n') };
  const dependencies = manifests.flatMap((manifest) => Object.keys(manifest.dependencies ?? {}));
  for (const name of [...dependencies, ...Object.values(entryPeers).flat()]) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(join(root, 'node_modules', name), link, 'junction');
  }
  const entries = manifests.flatMap(entriesOf);
  const source = entries.map((entry) => `await import(${JSON.stringify(entry)});`).join('\n');
  const imported = await runCommand('node', ['--input-type=module', '-e', source], { cwd: folder });
  if (!imported.ok) return imported;
  const typed = await checkPackedTypes(folder, entries);
  return typed.ok ? { ok: true, output: `${entries.length} entries import` } : typed;
}

function entriesOf({ name, exports }: PackageManifest): readonly string[] {
  return Object.keys(exports)
    .filter((key) => key !== './package.json')
    .map((key) => name + key.slice(1));
}
