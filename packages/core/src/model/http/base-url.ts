import { misconfigured } from '../../error/agent-error.ts';
import type { HttpRequest } from './http-transport.ts';

/**
 * Returns the base URL without blanks and without slashes at its end. A path such as `/llm/v1` is a
 * base URL, too: it belongs to the page's own server. Throws `CONFIGURATION` for a base URL without
 * a scheme, for one with a query, and for one that matches `service`, the path of a service. A
 * model adds that path to the base URL.
 */
export function checkedBase(baseURL: string, service: RegExp): string {
  const address = baseURL.trim();
  const base = address.replace(/\/+$/, '');
  if (/^([\w+-]+:\/)?\.*\/[^?#]*$/.test(address) && !service.test(base)) return base;
  const message = `baseURL must be like https://host/v1 (no query); got ${addressOf(address)}.`;
  throw misconfigured(message);
}

/** Returns the host of an address. Returns a path of the page's own server unchanged. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** Returns an address without credentials, query and fragment, for error messages. */
export function addressOf(url: string): string {
  return url.replace(/^([^/]*\/\/)?[^/]*@|[?#].*/g, '$1');
}

/**
 * Returns a question for an error that suggests a wrong base URL. The error quotes the server's
 * reply after the question.
 */
export function baseUrlHint({ url, api = '/v1' }: Pick<HttpRequest, 'url' | 'api'>): string {
  return `. Is the base URL of ${addressOf(url)} right? Most end with ${api}. The reply`;
}

/**
 * Returns a question for a page's request that got no response. Otherwise returns an empty text, as
 * outside a browser. A browser does not say whether the server is down or does not allow the page
 * (CORS).
 */
export function pageAdvice(isUnanswered: boolean): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  return isUnanswered && location
    ? `. Does the server run and allow pages of ${location.origin}?`
    : '';
}
