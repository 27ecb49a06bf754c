import type { Plugin } from 'vite';

/**
 * Serves the page `/script-page?<path>`, which loads the script at that path as one bundle
 * (`bundledWorkers`). A test can reload or close the page in an iframe.
 */
export function scriptPagePlugin(): Plugin {
  return {
    name: 'script-pages',
    configureServer({ middlewares }) {
      middlewares.use('/script-page', (request, response) => {
        const path = new URL(request.url ?? '', 'http://localhost').search.slice(1);
        response.setHeader('content-type', 'text/html');
        response.end(`<!doctype html><script type="module" src="${path}?worker_file"></script>`);
      });
    },
  };
}
