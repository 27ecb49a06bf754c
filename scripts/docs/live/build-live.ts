import { mkdirSync, writeFileSync } from 'node:fs';
import { build } from 'vite';
import { fileOfModule } from '../../../docs/site/live/worker-text.ts';
import type { LiveProgram } from '../../../docs/site/live/live-program.ts';
import { packageFolders, readManifest } from '../../packages.ts';
import { root } from '../../root.ts';
import { publicFolder, siteFolder } from '../site-folders.ts';
import { liveModules } from './read-programs.ts';

/** Folder of the live examples in the site. */
export const liveFolder = `${publicFolder}/live`;

/**
 * Builds what the live examples need: the element of the page, the frame, the libraries as modules,
 * and one file for each program.
 */
export async function buildLive(programs: readonly LiveProgram[]): Promise<void> {
  const own = `${siteFolder}/live`;
  const libraries = Object.fromEntries(
    modules().map(([name, file]) => [`lib/${fileOfModule(name).replace(/\.js$/, '')}`, file]),
  );
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    publicDir: false,
    build: {
      outDir: liveFolder,
      emptyOutDir: true,
      target: 'es2023',
      modulePreload: false,
      chunkSizeWarningLimit: 2000,
      rolldownOptions: {
        input: {
          ...libraries,
          'lib/isoloop-core': `${own}/core.ts`,
          'lib/isoloop-core-agent': `${own}/agent.ts`,
          'lib/isoloop-core-testing': `${own}/testing.ts`,
          'lib/zod': `${own}/zod.ts`,
          'lib/start-worker': `${own}/start-worker.ts`,
          'example-element': `${own}/example-element.ts`,
          frame: `${own}/frame.ts`,
          'moving-picture': `${siteFolder}/home/moving-picture.ts`,
        },
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: '[name].js', chunkFileNames: 'lib/chunk-[hash].js' },
      },
    },
  });
  mkdirSync(`${liveFolder}/programs`, { recursive: true });
  for (const program of programs)
    writeFileSync(`${liveFolder}/programs/${program.name}.json`, JSON.stringify(program));
  writeFileSync(`${liveFolder}/origin.json`, '{}');
  writeFileSync(
    `${liveFolder}/frame.html`,
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Live example</title><script type="module" src="frame.js"></script></head><body></body></html>\n',
  );
}

/** Returns the modules that live examples may import, with their built files. */
function modules(): readonly (readonly [name: string, file: string])[] {
  return packageFolders.flatMap((folder) => {
    const manifest = readManifest(folder);
    return Object.entries(manifest.exports).flatMap(([key, target]) => {
      const name = manifest.name + key.slice(1);
      if (typeof target === 'string' || !liveModules.test(name)) return [];
      return [[name, `${root}/packages/${folder}/${target.default}`] as const];
    });
  });
}
