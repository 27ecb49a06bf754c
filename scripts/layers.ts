import { posix } from 'node:path';
import { moduleImports, type ModuleImport } from './module-imports.ts';

/** Core's folders: each may import itself and what stands before it; the entry files beside them may import all. `testing` is for users' tests. */
export const coreLayers: readonly string[] = [
  'error',
  'message',
  'tokens',
  'schema',
  'model',
  'formatter',
  'protocol',
  'tool',
  'memory',
  'context',
  'hook',
  'guard',
  'agent',
  'stream',
  'testing',
];

/** A file of the repository: its path from the root with `/`, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly source: string;
}

/** The packages a package may import, by its folder in `packages/`. */
const allowedPackages: Readonly<Record<string, readonly string[]>> = {
  core: [],
  'web-worker': ['core'],
  edge: ['core'],
};

/** The imports that break the layer rule, one line each: `path:line: why`. Empty when all is well. */
export function layerViolations(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, source }) =>
    moduleImports(path, source).flatMap((found) => {
      const reason = violation(path, found);
      return reason ? [`${path}:${found.line}: ${reason}`] : [];
    }),
  );
}

function violation(path: string, { specifier, typeOnly }: ModuleImport): string | undefined {
  const from = /^packages\/([^/]+)\/src\//.exec(path)?.[1];
  if (from === undefined) return undefined;
  const named = /^@isoloop\/([^/]+)/.exec(specifier)?.[1];
  if (named !== undefined) return named === from && isTest(path) ? undefined : packageViolation(from, named);
  if (!specifier.startsWith('.')) return undefined;
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith(`packages/${from}/src/`)) {
    return isTest(path) && target.startsWith('test/') ? undefined : `${from} reaches out of its sources to ${target}`;
  }
  return from === 'core' && !typeOnly && !isTest(path) ? coreViolation(path, target) : undefined;
}

function packageViolation(from: string, to: string): string | undefined {
  if (from === to) return `${from} imports itself by name; use a relative path`;
  return allowedPackages[from]?.includes(to) ? undefined : `${from} must not import ${to}`;
}

function coreViolation(path: string, target: string): string | undefined {
  const [from, to] = [folderOf(path), folderOf(target)];
  if (from === undefined) return undefined;
  if (to === undefined) return `${from}/ must not import the entry file ${posix.basename(target)}`;
  const [own, other] = [coreLayers.indexOf(from), coreLayers.indexOf(to)];
  if (own < 0) return `${from}/ is none of core's layers`;
  if (other < 0) return `${to}/ is none of core's layers`;
  return other <= own ? undefined : `${from}/ must not import ${to}/, a later layer`;
}

/** The folder below `packages/core/src`; `undefined` for an entry file. */
function folderOf(path: string): string | undefined {
  return /^packages\/core\/src\/([^/]+)\//.exec(path)?.[1];
}

function isTest(path: string): boolean {
  return /\.(?:test|fixture)\.tsx?$/.test(path);
}
