import { writeFileSync } from 'node:fs';
import { build } from 'vite';

/**
 * Bundles a module's source into one minified file, like the file that a browser or a Worker gets.
 */
export async function bundle(source, { file, conditions }) {
  const entry = file.replace(/\.js$/, '.entry.mjs');
  writeFileSync(entry, source);
  const [{ output }] = await build({
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { conditions },
    build: {
      write: false,
      minify: true,
      target: 'es2023',
      lib: { entry, formats: ['es'] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  writeFileSync(file, output[0].code);
}
