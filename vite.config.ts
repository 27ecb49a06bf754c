import { defineConfig } from 'vite';
import { root } from './scripts/root.ts';
import { sourceAlias } from './scripts/source-alias.ts';

/**
 * The demo's page and its worker. `npm run dev` serves the libraries from their sources, the build
 * takes what is published.
 */
export default defineConfig(({ command }) => ({
  root: `${root}/demo`,
  cacheDir: `${root}/node_modules/.vite-demo`,
  resolve: { alias: command === 'serve' ? sourceAlias : [] },
  worker: { format: 'es' },
  build: { outDir: 'dist', emptyOutDir: true, target: 'es2023', sourcemap: true },
}));
