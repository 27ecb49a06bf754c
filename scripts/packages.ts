import { readFileSync } from 'node:fs';
import { root } from './root.ts';

/** Folders of the published packages. Each package comes after the packages that it depends on. */
export const packageFolders: readonly string[] = [
  'core',
  'guards',
  'presets',
  'recall',
  'mcp',
  'web-worker',
  'react',
  'inspector',
  'edge',
  'openai-api',
];

/**
 * The optional peer dependencies that each entry imports. An entry that is not in this list imports
 * none.
 */
export const entryPeers: Readonly<Record<string, readonly string[]>> = {
  '@isoloop/core/schema': ['@cfworker/json-schema'],
  '@isoloop/react/object': ['react'],
  '@isoloop/react': ['react'],
  '@isoloop/edge/jwt': ['jose'],
};

export interface PackageManifest {
  readonly name: string;
  readonly exports: Readonly<
    Record<string, string | { readonly types: string; readonly default: string }>
  >;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export function readManifest(folder: string): PackageManifest {
  return JSON.parse(
    readFileSync(`${root}/packages/${folder}/package.json`, 'utf8'),
  ) as PackageManifest;
}
