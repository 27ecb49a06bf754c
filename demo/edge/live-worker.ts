import { liveFolder, liveHeaders, withHeaders } from '../../docs/site/site-headers.ts';

interface Env {
  /** The built documentation, in the folder `docs`. */
  readonly ASSETS: Fetcher;
}

/**
 * The Worker for the live examples of a deployed documentation. They run in its origin. It serves
 * nothing else, because visitors run their own code there.
 */
export default {
  fetch: async (request, { ASSETS }) => {
    const address = new URL(request.url);
    if (!address.pathname.startsWith(liveFolder)) return new Response(null, { status: 404 });
    return withHeaders(await ASSETS.fetch(request), liveHeaders(address));
  },
} satisfies ExportedHandler<Env>;
