/// <reference path="../provider-server/provided-context.d.ts" />
import { inject, onTestFinished, vi } from 'vitest';

type Body = Readonly<Record<string, unknown>>;

export interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: Body;
}

/**
 * Replaces `fetch` during a test: requests for the server at `from` go to a path of the provider
 * server. `change` can change the body, for example add a script. Returns the list of redirected
 * requests.
 */
export function redirectFetch(
  from: string,
  path: string,
  change: (body: Body) => Body = (body) => body,
): readonly Sent[] {
  const sent: Sent[] = [];
  const realFetch = globalThis.fetch;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (!url.startsWith(from))
      throw new Error(`The example sent a request to another server: ${url}`);
    const body = JSON.parse(init.body as string) as Body;
    sent.push({ url, headers: new Headers(init.headers), body });
    return realFetch(`${inject('providerUrl')}${path}${url.slice(from.length)}`, {
      ...init,
      body: JSON.stringify(change(body)),
    });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return sent;
}
