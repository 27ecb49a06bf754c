import { readFileSync } from 'node:fs';
import { packageFolders } from './packages.ts';
import { root } from './root.ts';

export interface Alias {
  readonly find: RegExp;
  readonly replacement: string;
}

/**
 * Maps each export of a package to its source file, because tests and `npm run dev` use the
 * sources.
 */
export const sourceAlias: Alias[] = packageFolders.flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(`${root}/packages/${name}/package.json`, 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  return Object.entries(exports).flatMap(([key, target]) =>
    typeof target === 'string'
      ? []
      : {
          find: new RegExp(`^@isoloop/${name}${key.slice(1)}$`),
          replacement: `${root}/packages/${name}/${target.default.replace('dist/', 'src/').replace(/\.js$/, '.ts')}`,
        },
  );
});
