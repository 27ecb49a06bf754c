import type { Plugin } from 'vite';

const page =
  '<!doctype html><script type="module" src="/packages/web-worker/test-support/csp-page.ts?csp"></script>';

/**
 * Serves the page `/csp-page`, and adds a content security policy to the response of every address
 * with `?csp`. The policy allows only scripts and workers of the site.
 */
export function policyPlugin(): Plugin {
  return {
    name: 'content-security-policy',
    configureServer({ middlewares }) {
      middlewares.use((request, response, next) => {
        const url = request.url ?? '';
        if (url.includes('?csp'))
          response.setHeader('content-security-policy', "worker-src 'self'; script-src 'self'");
        if (!url.startsWith('/csp-page?')) return next();
        response.setHeader('content-type', 'text/html');
        response.end(page);
      });
    },
  };
}
