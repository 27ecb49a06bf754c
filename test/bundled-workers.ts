import { build, type Plugin } from 'vite';
import { root } from '../scripts/root.ts';
import { sourceAlias } from '../scripts/source-alias.ts';
import { sentRequestsPlugin } from './sent-requests/plugin.ts';

/**
 * Serves each worker script of the tests as one bundle. Otherwise, Vite's development server would
 * send 250 modules to each worker, which takes ten times as long. The tests start hundreds of
 * workers.
 */
export function bundledWorkers(): Plugin {
  const bundles = new Map<string, Promise<string>>();
  return {
    name: 'bundled-workers',
    configureServer({ middlewares, watcher }) {
      watcher.on('change', () => bundles.clear());
      middlewares.use((request, response, next) => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
        if (!searchParams.has('worker_file')) return next();
        const bundle = bundles.get(pathname) ?? bundleWorker(pathname);
        bundles.set(pathname, bundle);
        bundle.then((code) => {
          response.setHeader('content-type', 'text/javascript');
          response.end(code);
        }, next);
      });
    },
  };
}

async function bundleWorker(path: string): Promise<string> {
  const built = await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [sentRequestsPlugin()],
    resolve: { alias: sourceAlias },
    build: {
      write: false,
      minify: false,
      target: 'es2023',
      rolldownOptions: {
        input: `${root}${path}`,
        output: { format: 'es', codeSplitting: false },
        // The packages declare that they have no side effects. Tree shaking would therefore drop
        // test files that are imported only for their side effects.
        treeshake: false,
      },
    },
  });
  const { output } = [built].flat()[0] as {
    readonly output: readonly { readonly type: string; readonly code?: string }[];
  };
  return output[0]!.code!;
}
