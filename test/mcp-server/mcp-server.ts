import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fault } from './faults.ts';
import { McpHost } from './mcp-host.ts';

export interface McpTestServer {
  /** `http://127.0.0.1:PORT`, without a slash at its end. */
  readonly url: string;
  close(): Promise<void>;
}

/** MCP servers on loopback, one a key, by the SDK's own server; see README.md for the routes. */
export async function startMcpServer({ port = 0 }: { readonly port?: number } = {}): Promise<McpTestServer> {
  const hosts = new Map<string, McpHost>();
  const server = createServer((request, response) => {
    answer(request, response, hosts).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, hosts: Map<string, McpHost>): Promise<void> {
  allowAnyOrigin(request, response);
  if (request.method === 'OPTIONS') return void response.writeHead(204).end();
  const [area = '', key = '', what = '', detail = ''] = new URL(request.url ?? '/', 'http://localhost').pathname
    .split('/')
    .slice(1)
    .map(decodeURIComponent);
  if (area === 'fault') return fault(key, request, response);
  if (area !== 'servers' || !key) return void response.writeHead(404).end('Nothing here');
  const host = hosts.get(key) ?? new McpHost();
  hosts.set(key, host);
  if (what === 'mcp' || what === 'resumable' || what === 'stateless') return host.answer(request, response, what);
  const told = await host.control(what, detail);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
}

function allowAnyOrigin(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET, POST, DELETE, OPTIONS');
  response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*');
  response.setHeader('access-control-expose-headers', 'mcp-session-id');
  response.setHeader('access-control-max-age', '600');
}
