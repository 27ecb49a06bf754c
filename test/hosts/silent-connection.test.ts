import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { serve } from '@hono/node-server';
import { MemoryStore, ReActAgent } from '@isoloop/core';
import { requestEndpoint } from '@isoloop/core/endpoint';
import { ScriptedModel } from '@isoloop/core/testing';
import { createAgentHandler } from '@isoloop/edge';
import { storeSessions } from '@isoloop/edge/store';

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

test('a page notices a swallowing proxy by the keep-alive that a chat endpoint promises', async () => {
  const reply = { deltas: [[{ type: 'text', id: 't', delta: 'half' }]], hang: true } as const;
  const handler = createAgentHandler({
    store: storeSessions(new MemoryStore()),
    limits: { keepAliveMs: 40 },
    agent: ({ sessionId, memory }) =>
      new ReActAgent({
        name: 'assistant',
        model: new ScriptedModel([reply]),
        memory,
        sessionId,
      }),
    authorize: () => ({ user: 'ann' }),
  });
  const server = serve({ fetch: handler.fetch, port: 0, hostname: '127.0.0.1' });
  if (!server.listening) await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { state, url } = await startProxy((server.address() as AddressInfo).port);
  const ask = (path: string, body: object) =>
    requestEndpoint({
      url: `${url}api/chat${path}`,
      init: {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      },
    });
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] };
  const { body, headers } = await ask('', { id: 's', messages: [message] });
  expect(headers.get('x-isoloop-keep-alive')).toBe('40');
  const reader = body!.getReader();
  const decoder = new TextDecoder();
  // Comments keep the stream alive while the model is silent.
  for (let text = ''; !text.includes(': keep-alive');)
    text += decoder.decode((await reader.read()).value);
  state.swallow = true;
  const readToEnd = async (): Promise<void> => {
    for (;;) if ((await reader.read()).done) return;
  };
  await expect(readToEnd()).rejects.toMatchObject({ code: 'ENDPOINT_TIMEOUT' });
  state.swallow = false;
  const stopped = await ask('/s/interrupt', { mode: 'abort' });
  expect(await stopped.json()).toEqual({ interrupted: true });
});
