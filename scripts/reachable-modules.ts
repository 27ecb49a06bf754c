import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { moduleImports } from './module-imports.ts';

export interface Reachable {
  /** Absolute paths of the modules, including the entry, with `/`. */
  readonly files: ReadonlySet<string>;
  /** Names of the packages that the modules import. */
  readonly packages: ReadonlySet<string>;
}

/** Follows the relative imports of a built module. `entry`: its absolute path, with `/`. */
export function reachable(entry: string): Reachable {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const { specifier } of moduleImports(file, readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.')) visit(join(dirname(file), specifier));
      else packages.add(packageOf(specifier));
    }
  };
  visit(entry);
  return { files, packages };
}

/** Returns `@scope/name` for `@scope/name/a/file.js`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
