import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { requestEndpoint } from '@isoloop/core/adapter';

/** Starts a server that sends one comment and then keeps the connection open. */
async function startEndpoint(): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hello\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a proxy that swallows all packets after `swallow` is set, and keeps its connections. */
async function startProxy(port: number) {
  const state = { swallow: false, closed: 0 };
  const sockets: Socket[] = [];
  const server = createTcpServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    client.on('data', (data) => state.swallow || upstream.write(data));
    upstream.on('data', (data) => state.swallow || client.write(data));
    client.on('close', () => (state.closed += 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

test('a stream whose packets a proxy swallows fails, and its connection is closed', async () => {
  const { state, url } = await startProxy(await startEndpoint());
  const { body } = await requestEndpoint({ url, init: {}, silenceMs: 50 });
  const reader = body!.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe(': hello\n\n');
  state.swallow = true;
  await expect(reader.read()).rejects.toMatchObject({ code: 'ENDPOINT_TIMEOUT' });
  await expect.poll(() => state.closed).toBeGreaterThan(0);
});

test('a request whose packets a proxy swallows fails, and its connection is closed', async () => {
  const { state, url } = await startProxy(await startEndpoint());
  state.swallow = true;
  const request = requestEndpoint({ url, init: {}, timeoutMs: 50 });
  await expect(request).rejects.toMatchObject({ code: 'ENDPOINT_TIMEOUT' });
  await expect.poll(() => state.closed).toBeGreaterThan(0);
});
