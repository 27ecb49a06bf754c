import { existsSync, rmSync } from 'node:fs';
import { findFiles } from './find-files.ts';
import { root } from './root.ts';

/**
 * Removes the files in a package's `dist` whose source no longer exists. `tsc` leaves them there.
 */
export function removeStaleOutputs(folder: string): void {
  const dist = `${root}/packages/${folder}/dist`;
  for (const file of findFiles('**/*.{js,d.ts,js.map,d.ts.map}', { folder: dist })) {
    const source = `${dist}/../src/${file.replace(/(\.d\.ts|\.js)(\.map)?$/, '.ts')}`;
    if (!existsSync(source)) rmSync(`${dist}/${file}`);
  }
}
