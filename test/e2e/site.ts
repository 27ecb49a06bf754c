import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { build, preview, type InlineConfig, type PluginOption } from 'vite';
import { root } from '../../scripts/root.ts';

export interface Site {
  /** `http://localhost:PORT`. */
  readonly origin: string;
  stop(): Promise<void>;
}

export interface SiteFiles {
  /** Name of the build folder. */
  readonly name: string;
  /** Scripts by file name. */
  readonly sources: Readonly<Record<string, string>>;
  /** The script of each page, by the page's path without `.html`. */
  readonly pages: Readonly<Record<string, string>>;
  /** Vite's plugins, for other languages than TypeScript. */
  readonly plugins?: PluginOption[];
}

/**
 * Builds pages that contain only a script, with Vite's defaults and the built packages. Serves
 * them on loopback.
 */
export async function startSite({ name, sources, pages, plugins = [] }: SiteFiles): Promise<Site> {
  // The folder is inside the repository, so that Node resolves the packages.
  const folder = `${root}/node_modules/.cache/${name}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, source] of Object.entries(sources)) writeFileSync(`${folder}/${file}`, source);
  for (const [page, script] of Object.entries(pages))
    writeFileSync(`${folder}/${page}.html`, htmlOf(script));
  const config: InlineConfig = {
    root: folder,
    configFile: false,
    logLevel: 'error',
    plugins,
    build: {
      rolldownOptions: { input: Object.keys(pages).map((page) => `${folder}/${page}.html`) },
    },
    preview: { host: '127.0.0.1', port: 0 },
  };
  await build(config);
  const server = await preview(config);
  const { port } = new URL(server.resolvedUrls!.local[0]!);
  return { origin: `http://localhost:${port}`, stop: () => server.close() };
}

function htmlOf(script: string): string {
  return `<!doctype html><html lang="en"><head><title>Example</title></head><body><div id="root"></div><script type="module" src="/${script}"></script></body></html>`;
}
