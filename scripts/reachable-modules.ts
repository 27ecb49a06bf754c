import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { moduleImports } from './module-imports.ts';

export interface Reachable {
  /** Absolute paths, the entry among them. */
  readonly files: ReadonlySet<string>;
  /** What is imported by name from outside. */
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
      else packages.add(specifier);
    }
  };
  visit(entry);
  return { files, packages };
}
