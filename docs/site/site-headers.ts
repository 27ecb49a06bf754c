/** Folder of the live examples below the origin of the site. */
export const liveFolder = '/docs/live/';

/**
 * Returns the content security policy of the site's pages. Starlight has inline scripts, and its
 * search is WebAssembly. Nothing comes from another host, except frames of `frames`.
 */
export function sitePolicy(frames: string): string {
  return [
    "default-src 'self'",
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `frame-src 'self' ${frames}`,
    "base-uri 'self'",
  ].join('; ');
}

/**
 * Returns the headers of the frame of the live examples and of its libraries. `address` is that of
 * the request, on the origin of the frame. Edited code runs there: it reaches neither the storage
 * of the site nor a network, except the server that the reader has chosen (`?connect=`).
 */
export function liveHeaders(address: URL): Record<string, string> {
  return {
    'access-control-allow-origin': '*', // a sandboxed frame has no origin, so it loads scripts from another one
    'content-security-policy': [
      "default-src 'none'",
      `script-src ${address.origin} blob:`,
      'worker-src blob:',
      `connect-src ${originIn(address.searchParams.get('connect'))}`,
    ].join('; '),
  };
}

/** Returns the origin of an address for a policy. Returns `'none'` for anything else. */
function originIn(address: string | null): string {
  if (address === null || !URL.canParse(address)) return "'none'";
  const { origin } = new URL(address);
  // A host may contain a semicolon, which would end the directive.
  return /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : "'none'";
}

/** Returns a response of static files with other headers, and with another status if it has one. */
export function withHeaders(
  response: Response,
  headers: Readonly<Record<string, string>>,
  status: number = response.status,
): Response {
  const all = new Headers(response.headers);
  all.set('x-content-type-options', 'nosniff');
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return new Response(response.body, { status, headers: all });
}
