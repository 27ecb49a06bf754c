import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback, type LoopbackServer } from '../listen-on-loopback.ts';
import { refusalOf } from '../sent-requests/note.ts';
import { dashScope } from './dashscope.ts';
import { deltas, echo } from './echo.ts';
import { readBody, sendError, sendJson, type ChatRequest, type Handler } from './exchange.ts';
import { fault } from './faults.ts';
import { redirect } from './redirect.ts';
import { replay } from './replay.ts';
import { scriptedResponses } from './responses.ts';
import { scripted } from './scripted.ts';
import { Visits } from './visits.ts';

export interface ProviderServerOptions {
  /** Default: any free port. */
  readonly port?: number;
}

const routes: Readonly<Record<string, Handler>> = {
  replay,
  fault,
  scripted,
  echo,
  deltas,
  dashscope: dashScope,
};

/**
 * Starts an OpenAI-compatible server on loopback. The path selects its behavior; README.md lists
 * the paths.
 */
export async function startProviderServer({
  port = 0,
}: ProviderServerOptions = {}): Promise<LoopbackServer> {
  const visits = new Visits();
  const server = createServer((request, response) => {
    answer(request, response, visits).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 500, { message: String(error) });
    });
  });
  return listenOnLoopback(server, port);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  visits: Visits,
): Promise<void> {
  allowAnyOrigin(request, response);
  if (request.method === 'OPTIONS') return void response.writeHead(204).end();

  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const [route = '', ...rest] = pathname.split('/').filter(Boolean);
  if (route === 'arrived' || route === 'departed')
    return visits.answer(route, rest[0] ?? '', response);
  if (route === 'redirect') return redirect(request, response, rest);
  if (pathname.endsWith('/models'))
    return sendJson(response, 200, { object: 'list', data: [{ id: 'scripted', object: 'model' }] });

  const handler = handlerOf(route, pathname);
  if (!handler) return sendError(response, 404, { message: `Nothing at ${pathname}` });
  if (request.method !== 'POST') return sendError(response, 405, { message: 'Use POST.' });

  visits.watch(request, response);
  const body = parseBody(await readBody(request));
  if (!body)
    return sendError(response, 400, {
      message: 'We could not parse the JSON body of your request.',
    });
  const refusal = route === 'dashscope' ? undefined : refusalOf({ url: pathname, body });
  if (refusal) return sendError(response, 400, { message: refusal });
  await handler({ request, response, parameters: rest, body });
}

function handlerOf(route: string, pathname: string): Handler | undefined {
  if (/^\/(scripted\/)?v1\/responses$/.test(pathname)) return scriptedResponses;
  // A fault that is only an HTTP status is the same for both APIs of OpenAI.
  if (/^\/fault\/\d+\/v1\/responses$/.test(pathname)) return fault;
  const path = route === 'dashscope' ? '/generation' : '/chat/completions';
  if (!pathname.endsWith(path)) return undefined;
  if (route === 'v1') return scripted;
  return Object.hasOwn(routes, route) ? routes[route] : undefined;
}

/**
 * Allows all origins. Browsers send a preflight request before a request with `authorization`, and
 * `*` does not allow that header.
 */
function allowAnyOrigin(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET, POST, OPTIONS');
  response.setHeader(
    'access-control-allow-headers',
    request.headers['access-control-request-headers'] ?? '*',
  );
  response.setHeader('access-control-expose-headers', 'retry-after');
  response.setHeader('access-control-max-age', '600');
}

function parseBody(text: string): ChatRequest | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}
