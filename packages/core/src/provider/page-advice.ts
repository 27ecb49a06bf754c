/**
 * Returns a question for a page's request that got no response, or an empty text outside a browser.
 * A browser does not say whether the server is down or does not allow the page (CORS).
 */
export function pageAdvice(): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  return location ? `. Does the server run and allow pages of ${location.origin}?` : '';
}
