import { fileURLToPath } from 'node:url';
import { withSlashes } from './with-slashes.ts';

/** The repository's folder, with `/` on every system and without a trailing slash. */
export const root: string = withSlashes(fileURLToPath(new URL('..', import.meta.url))).replace(
  /\/$/,
  '',
);
