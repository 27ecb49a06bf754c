import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Answers `/redirect/STATUS/TARGET/PATH` with a redirect to `/PATH`. The target `near` is on the
 * same origin, `far` is the same server at another origin, and `loop` is the same address. The
 * target `nowhere` sends no address.
 */
export function redirect(
  request: IncomingMessage,
  response: ServerResponse,
  [status, target, ...path]: readonly string[],
): void {
  const { host = '' } = request.headers;
  const places: Readonly<Record<string, string>> = {
    near: `/${path.join('/')}`,
    far: `http://${host.replace('127.0.0.1', 'localhost')}/${path.join('/')}`,
    loop: request.url ?? '/',
  };
  const location = places[target ?? ''];
  response.writeHead(Number(status), location === undefined ? {} : { location }).end();
}
