import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { moduleImports } from './module-imports.ts';

export interface Reachable {
  /** Absolute paths, the entry among them. */
  readonly files: ReadonlySet<string>;
  /** The packages that something is imported from. */
  readonly packages: ReadonlySet<string>;
}

/** All that a built module loads, by its relative imports. */
export function reachable(entry: string): Reachable {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const { specifier } of moduleImports(file, readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier));
      else packages.add(packageOf(specifier));
    }
  };
  visit(entry);
  return { files, packages };
}

/** `@scope/name` of `@scope/name/a/file.js`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
