import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback, type LoopbackServer } from '../listen-on-loopback.ts';
import { fault } from './faults.ts';
import { McpHost } from './mcp-host.ts';

/**
 * Starts an HTTP server on loopback with any number of MCP servers, one per key in the path. They
 * use the server of the MCP SDK. README.md lists the routes.
 */
export async function startMcpServer({
  port = 0,
}: { readonly port?: number } = {}): Promise<LoopbackServer> {
  const hosts = new Map<string, McpHost>();
  const server = createServer((request, response) => {
    answer(request, response, hosts).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end(String(error));
    });
  });
  return listenOnLoopback(server, port);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  hosts: Map<string, McpHost>,
): Promise<void> {
  allowAnyOrigin(request, response);
  if (request.method === 'OPTIONS') return void response.writeHead(204).end();
  const hostOf = (name: string): McpHost => {
    const host = hosts.get(name) ?? new McpHost();
    hosts.set(name, host);
    return host;
  };
  const [area = '', key = '', what = '', detail = ''] = new URL(
    request.url ?? '/',
    'http://localhost',
  ).pathname
    .split('/')
    .slice(1)
    .map(decodeURIComponent);
  const base = `http://${request.headers.host}/servers`;
  // `/.well-known/oauth-authorization-server/servers/KEY/oauth`
  if (area === '.well-known' && detail)
    return hostOf(detail).authorization.answer(request, response, `${base}/${detail}`);
  if (area === 'fault') return fault(key, request, response);
  if (area !== 'servers' || !key) return void response.writeHead(404).end('Nothing here');
  const host = hostOf(key);
  if (what === 'oauth' || what === 'resource')
    return host.authorization.answer(request, response, `${base}/${key}`);
  if (what === 'guarded') {
    const metadata = `${base}/${key}/resource`;
    if (!host.authorization.allows(request, response, metadata)) return;
    return host.answer(request, response, 'current');
  }
  if (what === 'mcp' || what === 'resumable' || what === 'stateless' || what === 'current')
    return host.answer(request, response, what);
  const told = await host.control(what, detail);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
}

function allowAnyOrigin(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET, POST, DELETE, OPTIONS');
  response.setHeader(
    'access-control-allow-headers',
    request.headers['access-control-request-headers'] ?? '*',
  );
  response.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate');
  response.setHeader('access-control-max-age', '600');
}
