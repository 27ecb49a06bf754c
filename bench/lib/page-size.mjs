import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const isReact = /^react(-dom)?($|\/)/;

/**
 * Returns the bytes (gzip) of a page's code without React. Code that is loaded later does not
 * count.
 */
export async function pageSize(source) {
  const folder = mkdtempSync(`${import.meta.dirname}/../../node_modules/.page-`);
  const input = `${folder}/page.tsx`;
  writeFileSync(input, source);
  try {
    const { output } = await build({
      configFile: false,
      logLevel: 'error',
      define: { 'process.env.NODE_ENV': '"production"' },
      build: {
        write: false,
        minify: true,
        target: 'es2023',
        modulePreload: false,
        rolldownOptions: {
          input,
          external: (id) => isReact.test(id),
          // As in an app, whose entry has no exports. Otherwise, each shared module gets a chunk.
          preserveEntrySignatures: 'allow-extension',
          output: { format: 'es' },
        },
      },
    });
    const first = output.find(({ isEntry }) => isEntry);
    const chunks = new Set([first.fileName]);
    for (const fileName of chunks)
      for (const other of output.find((chunk) => chunk.fileName === fileName)?.imports ?? [])
        if (output.some((chunk) => chunk.fileName === other)) chunks.add(other);
    const loaded = output.filter(({ fileName }) => chunks.has(fileName));
    return loaded.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
