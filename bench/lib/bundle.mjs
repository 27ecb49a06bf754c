import { writeFileSync } from 'node:fs';
import { build } from 'vite';

/**
 * Bundles a module's source into one minified file, like the file that a browser or a Worker gets.
 * Not a library build of Vite, because such a build keeps all blanks.
 */
export async function bundle(source, { file, conditions }) {
  const input = file.replace(/\.js$/, '.entry.mjs');
  writeFileSync(input, source);
  const { output } = await build({
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { conditions },
    build: {
      write: false,
      minify: true,
      target: 'es2023',
      modulePreload: false,
      rolldownOptions: {
        input,
        preserveEntrySignatures: 'strict',
        output: { format: 'es', codeSplitting: false },
      },
    },
  });
  writeFileSync(file, inAscii(output[0].code));
}

/**
 * Writes other characters than ASCII as escapes, as wrangler does. With one such character, V8
 * keeps two bytes for each character of the file.
 */
function inAscii(code) {
  const escape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return code.replace(/[\u0080-\uffff]/g, escape);
}
