import { AgentError } from '@isoloop/core';
import {
  checkOptions,
  func,
  optional,
  array,
  boolean,
  whole,
  type OptionTable,
} from '@isoloop/core/options';
import { privateReason } from './public-address.ts';

/** Which addresses `publicFetch()` may read, and how many redirects it follows. */
export interface PublicFetchOptions {
  /** Function that sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Allowed hosts, such as `example.com` or `*.example.com`. Default: all public hosts. */
  readonly hosts?: readonly string[];
  /** Whether `http:` URLs are allowed too. Default: false. */
  readonly http?: boolean;
  /**
   * Maximum number of redirects to follow. Each redirect is checked like the first URL. Default: 5.
   */
  readonly redirects?: number;
}

/** Headers that another origin may get. Any other header may be a credential, whatever its name. */
const generalHeaders =
  /^(accept|accept-[a-z]+|cache-control|content-[a-z]+|if-[a-z-]+|mcp-protocol-version|range|user-agent)$/;

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Creates a `fetch` for URLs that come from a model or a user. Use it in tools, and as `fetch` of
 * `mcpTools()`. It sends requests only to public hosts on ports 80, 443, 8080 and 8443, and checks
 * each redirect too. Another origin gets only general headers, such as `accept` and `user-agent`.
 *
 * Before it sends anything, it rejects with `INVALID_INPUT` for private, loopback, link-local and
 * metadata addresses in all spellings. It also rejects URLs with a user name. It does not detect a
 * public name that resolves to a private address. Cloudflare Workers cannot reach private networks
 * through such a name. On other platforms, block private addresses in the network.
 *
 * Throws `CONFIGURATION` for an invalid or unknown option.
 */
export function publicFetch(options: PublicFetchOptions = {}): typeof fetch {
  checkPublicOptions(options);
  const { fetch: send, redirects = 5 } = options;
  return async (input: RequestInfo | URL, init?: RequestInit) => {
    const { url: address, redirect } =
      input instanceof Request ? input : { url: String(input), redirect: 'follow' };
    // `Request` refuses user names too, but its error quotes the password.
    if (URL.canParse(address)) checkAddress(address, options);
    let request = new Request(input as RequestInfo, { ...init, redirect: 'manual' });
    let url = checkAddress(request.url, options);
    const mode = init?.redirect ?? redirect;
    for (let hop = 0; ; hop++) {
      // A body can be sent only once, so a copy is kept for a redirect.
      const copy = request.body && mode === 'follow' ? request.clone() : request;
      const response = await (send ?? fetch)(request);
      const location = locationOf(response);
      if (location === null || mode === 'manual') {
        if (copy !== request) drop(copy.body);
        return response;
      }
      drop(response.body);
      if (mode === 'error') throw urlError(url, 'redirects');
      if (hop >= redirects) throw urlError(url, `redirects more than ${redirects} times`);
      if (!URL.canParse(location, url)) throw urlError(url, 'redirects to an invalid address');
      url = checkAddress(new URL(location, url).href, options);
      request = redirectRequest(copy, response.status, url);
    }
  };
}

/** Returns the address to which a response redirects, or `null`. */
function locationOf({ status, headers }: Response): string | null {
  return redirectStatuses.has(status) ? headers.get('location') : null;
}

/**
 * Throws `CONFIGURATION` for wrong options. If it ignored a wrong `hosts`, all hosts would be
 * allowed.
 */
function checkPublicOptions(options: PublicFetchOptions): void {
  checkOptions('publicFetch()', options, publicFetchOptions);
  const { hosts = [] } = options;
  for (const host of hosts) {
    if (typeof host === 'string' && isHostName(host.replace(/^\*\./, ''))) continue;
    const examples = '"example.com" or "*.example.com"';
    throw optionError(
      `\`hosts\` has ${JSON.stringify(host)}, which is not a host such as ${examples}`,
    );
  }
}

const publicFetchOptions: OptionTable<PublicFetchOptions> = {
  fetch: optional(func),
  hosts: optional(array),
  http: optional(boolean),
  redirects: optional(whole),
};

/** Returns whether the text is a host in the URL parser's form, in which hosts are compared. */
function isHostName(host: string): boolean {
  const address = `https://${host}`;
  return URL.canParse(address) && new URL(address).hostname === host && !host.includes('*');
}

function checkAddress(address: string, { hosts, http = false }: PublicFetchOptions): URL {
  const url = new URL(address);
  if (url.protocol !== 'https:' && !(http && url.protocol === 'http:'))
    throw urlError(url, 'is not https');
  if (url.username || url.password) throw urlError(url, 'contains a user name');
  if (!/^(80|443|8080|8443)?$/.test(url.port)) throw urlError(url, 'has an unusual port');
  const reason = privateReason(url.hostname);
  if (reason !== undefined) throw urlError(url, `is not public: ${reason}`);
  if (hosts && !hosts.some((host) => isHost(url.hostname, host)))
    throw urlError(url, 'has a host that is not on the list');
  return url;
}

function isHost(name: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
}

/** Creates the request for a redirect, with the same method and headers as a browser. */
function redirectRequest(request: Request, status: number, url: URL): Request {
  const headers = new Headers(request.headers);
  if (new URL(request.url).origin !== url.origin)
    for (const name of request.headers.keys()) if (!generalHeaders.test(name)) headers.delete(name);
  const becomesGet =
    (status === 303 && !/^(GET|HEAD)$/.test(request.method)) ||
    (status < 303 && request.method === 'POST');
  if (!becomesGet) return new Request(url, new Request(request, { headers }));
  for (const name of ['content-type', 'content-length', 'content-encoding']) headers.delete(name);
  return new Request(url, { method: 'GET', headers, redirect: 'manual', signal: request.signal });
}

/** Ends a body without waiting: its source may never react. */
function drop(body: ReadableStream | null): void {
  body?.cancel().catch(() => undefined);
}

function urlError({ protocol, host }: URL, problem: string): AgentError {
  return new AgentError('INVALID_INPUT', `The address ${protocol}//${host} ${problem}.`);
}

function optionError(what: string): AgentError {
  return new AgentError('CONFIGURATION', `publicFetch(): ${what}.`);
}
