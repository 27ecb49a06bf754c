import { liveFolder, sitePolicy, withHeaders } from '../../docs/site/site-headers.ts';

/** Where the documentation comes from. */
export interface DocsEnv {
  /** Static files. `npm run deploy` puts the documentation into their folder `docs`. */
  readonly ASSETS: Fetcher;
  /** Address of the server of the documentation. `npm start` sets it. */
  readonly DOCS_URL?: string;
  /**
   * Origin of the Worker in `live-worker.ts`. The live examples run there. Without it, the
   * examples of a deployed demo do not run.
   */
  readonly LIVE_ORIGIN?: string;
}

/** Answers requests for the documentation. Returns `undefined` for other requests. */
export async function answerDocs(request: Request, env: DocsEnv): Promise<Response | undefined> {
  const address = new URL(request.url);
  const { pathname, search } = address;
  if (!/^\/docs(?:\/|$)/.test(pathname)) return undefined;
  if (env.DOCS_URL) return fetch(env.DOCS_URL + pathname + search, { redirect: 'manual' });
  if (pathname === `${liveFolder}origin.json`) return Response.json({ origin: env.LIVE_ORIGIN });
  const headers = { 'content-security-policy': sitePolicy(env.LIVE_ORIGIN ?? '') };
  const found = await env.ASSETS.fetch(request);
  if (found.status !== 404) return withHeaders(found, headers);
  const missing = await env.ASSETS.fetch(new URL('/docs/404', address));
  return withHeaders(missing, headers, 404);
}
