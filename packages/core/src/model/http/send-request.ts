import { AgentError } from '../../error/agent-error.ts';
import type { Deadline } from '../deadline.ts';
import type { HttpRequest } from './http-request.ts';

const mostRedirects = 5;

/**
 * Sends the request. Follows redirects only within its origin, so that no other server gets the key
 * or the prompt. Browsers hide the target of a redirect, so none is followed there.
 */
export async function sendRequest(request: HttpRequest, deadline: Deadline): Promise<Response> {
  const { headers, body, fetch: send = fetch } = request;
  const content =
    body === undefined
      ? { headers }
      : { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  let { url } = request;
  let where = '';
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const response = await deadline.wait(() =>
      send(url, { ...content, signal: deadline.signal, redirect: 'manual' }),
    );
    const { status } = response;
    // In a browser, the status of a redirect is 0.
    if (status && (status < 301 || status > 308)) return response;
    response.body?.cancel().catch(() => undefined);
    const location = response.headers.get('location');
    const isKnown = location !== null && URL.canParse(location, url);
    const target = isKnown ? new URL(location, url) : undefined;
    // A request for a reply makes no sense with another method, which 303 asks for.
    const isNear = target && target.origin === new URL(url).origin;
    where = target?.origin ?? 'a hidden address';
    if (!isNear || status === 303) break;
    url = target.href;
  }
  throw new AgentError(
    'MODEL_BAD_RESPONSE',
    `The model server redirects to ${where}. Set baseURL to it if you trust it.`,
  );
}
