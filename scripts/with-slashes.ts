import { sep } from 'node:path';

/** Returns a path with `/` between its parts. `separator`: the one of the system by default. */
export function withSlashes(path: string, separator: string = sep): string {
  return path.replaceAll(separator, '/');
}
