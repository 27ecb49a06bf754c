import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener, serve } from '@hono/node-server';
import { MemoryStore, ReActAgent, tool, type KeyValueStore, type Memory } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { unstorageStore } from '@isoloop/core/memory';
import { createAgentHandler, type AgentHandler } from '@isoloop/edge';
import { openAiRoutes } from '@isoloop/openai-api';
import { storeSessions } from '@isoloop/edge/store';
import OpenAI from 'openai';
import fsDriver from 'unstorage/drivers/fs';
import { expect, onTestFinished, test, vi } from 'vitest';

interface Options {
  readonly replies: readonly ScriptedReply[];
  readonly store: KeyValueStore;
  /** Called when the tool `pay` runs. */
  readonly onPay?: () => void;
}

function handlerOf({ replies, store, onPay = () => {} }: Options): AgentHandler {
  const model = new ScriptedModel(replies);
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => (onPay(), 'paid'),
  });
  return createAgentHandler({
    openai: openAiRoutes(),
    models: ['scripted'],
    store: storeSessions(store),
    agent: ({ sessionId, memory }) =>
      new ReActAgent({ name: 'assistant', model, memory, sessionId, tools: [pay] }),
    authorize: (request) => {
      const user = request.headers.get('authorization')?.replace('Bearer ', '');
      return user ? { user } : null;
    },
  });
}

type Ask = (path: string, body?: unknown, method?: string, user?: string) => Promise<Response>;

/** Serves the handler over HTTP on loopback, as an app in Node does. */
async function serveIt(handler: AgentHandler): Promise<Ask & { readonly url: string }> {
  const server = serve({ fetch: handler.fetch, port: 0, hostname: '127.0.0.1' });
  onTestFinished(async () => {
    (server as { closeAllConnections?(): void }).closeAllConnections?.();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => {
    if (server.listening) resolve();
    else server.once('listening', () => resolve());
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(
    asker((path, init) => fetch(url + path, init)),
    { url },
  );
}

function asker(send: (path: string, init: RequestInit) => Promise<Response>): Ask {
  return (path, body, method = body === undefined ? 'GET' : 'POST', user = 'ann') =>
    send(path, {
      method,
      headers: { authorization: `Bearer ${user}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
}

const message = (text: string, id: string = crypto.randomUUID()) => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
});
const chunksOf = (text: string): readonly { readonly type: string; readonly delta?: string }[] =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!) as never);
const textOf = (text: string): string =>
  chunksOf(text)
    .map(({ type, delta }) => (type === 'text-delta' ? delta : ''))
    .join('');

async function folderStore(): Promise<() => KeyValueStore> {
  const base = await mkdtemp(join(tmpdir(), 'isoloop-host-'));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  return () => unstorageStore(fsDriver({ base }));
}

test('an endpoint in Node answers over HTTP and keeps conversations in files, also for a new process', async () => {
  const open = await folderStore();
  const ask = await serveIt(handlerOf({ replies: ['Hello Ann.'], store: open() }));
  const chat = await ask('/api/chat', { id: 'c1', messages: [message('Hi')] });
  expect(chat.headers.get('content-type')).toContain('text/event-stream');
  expect(textOf(await chat.text())).toBe('Hello Ann.');
  // Another handler stands for the next process.
  const again = await serveIt(handlerOf({ replies: ['And again.'], store: open() }));
  const { messages } = (await (await again('/api/chat/c1/messages')).json()) as {
    readonly messages: readonly { readonly role: string }[];
  };
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  const second = await again('/api/chat', { id: 'c1', messages: [message('Again')] });
  expect(textOf(await second.text())).toBe('And again.');
  const client = new OpenAI({ baseURL: `${again.url}/v1`, apiKey: 'ann', maxRetries: 0 });
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['scripted']);
});

test('an endpoint in Node lists, renames and deletes the conversations of each user alone', async () => {
  const ask = await serveIt(handlerOf({ replies: ['a', 'b', 'c'], store: new MemoryStore() }));
  await (await ask('/api/chat', { id: 'c1', messages: [message('First')] })).text();
  await (await ask('/api/chat', { id: 'c1', messages: [message('Of Bob')] }, 'POST', 'bob')).text();
  const listed = async (user: string): Promise<unknown> =>
    (await ask('/api/chats', undefined, 'GET', user)).json();
  expect(await listed('ann')).toMatchObject({ chats: [{ sessionId: 'c1', title: 'First' }] });
  expect(await listed('bob')).toMatchObject({ chats: [{ sessionId: 'c1', title: 'Of Bob' }] });
  expect((await ask('/api/chat/c1', { title: 'Mine' }, 'PATCH')).status).toBe(204);
  expect((await ask('/api/chat/none', { title: 'Mine' }, 'PATCH')).status).toBe(404);
  expect(await listed('ann')).toMatchObject({ chats: [{ sessionId: 'c1', title: 'Mine' }] });
  expect((await ask('/api/chat/c1', undefined, 'DELETE')).status).toBe(204);
  expect([await listed('ann'), await listed('bob')]).toEqual([
    { chats: [] },
    { chats: [expect.objectContaining({ title: 'Of Bob' })] },
  ]);
  const after = await ask('/api/chat', { id: 'c1', messages: [message('New')] });
  expect(textOf(await after.text())).toBe('c');
});

test('in Node a client reconnects to the running turn, and an interrupt from another connection ends it', async () => {
  const replies = [[{ text: 'Half ' }, { hang: true }], 'next'];
  const ask = await serveIt(handlerOf({ replies, store: new MemoryStore() }));
  expect((await ask('/api/chat/c1/stream')).status).toBe(204);
  const lost = await ask('/api/chat', { id: 'c1', messages: [message('Go')] });
  const reader = lost.body!.getReader();
  for (let seen = ''; !seen.includes('Half');) {
    const { value } = await reader.read();
    seen += new TextDecoder().decode(value);
  }
  await reader.cancel();
  const resumed = await ask('/api/chat/c1/stream');
  expect(resumed.status).toBe(200);
  const queued = ask('/api/chat', { id: 'c1', messages: [message('Then')] });
  const ended = await ask('/api/chat/c1/interrupt', { mode: 'abort' });
  expect(await ended.json()).toEqual({ interrupted: true });
  expect(textOf(await resumed.text())).toBe('Half ');
  expect(textOf(await (await queued).text())).toBe('next');
});

test('in Node a turn that arrives while its conversation is deleted is answered, and so is the next one', async () => {
  const replies = [[{ text: 'Half ' }, { hang: true }], 'fresh', 'fresh'];
  const ask = await serveIt(handlerOf({ replies, store: new MemoryStore() }));
  const running = await ask('/api/chat', { id: 'c1', messages: [message('Go')] });
  const deleting = ask('/api/chat/c1', undefined, 'DELETE');
  const fresh = ask('/api/chat', { id: 'c1', messages: [message('Anew')] });
  expect((await deleting).status).toBe(204);
  await running.text();
  // The turn was either deleted with the conversation, or it began a new one.
  expect(await (await fresh).text()).toMatch(/fresh|The session was deleted/);
  const after = await ask('/api/chat', { id: 'c1', messages: [message('Anew')] });
  expect(textOf(await after.text())).toBe('fresh');
});

test('in Node two approvals of one call at the same moment run the tool once', async () => {
  let paid = 0;
  const replies = [{ toolCalls: [{ name: 'pay', id: 'p1' }] }, 'done'];
  const open = await folderStore();
  const ask = await serveIt(handlerOf({ replies, store: open(), onPay: () => void (paid += 1) }));
  const run = await ask('/api/run', { sessionId: 'c1', input: 'Pay' });
  expect(await run.text()).toContain('"pending":[{');
  const decision = { sessionId: 'c1', decisions: [{ type: 'approve', toolUseId: 'p1' }] };
  const both = await Promise.all([ask('/api/run', decision), ask('/api/run', decision)]);
  const texts = await Promise.all(both.map((answer) => answer.text()));
  expect(texts.filter((text) => text.includes('"reason":"stop"'))).toHaveLength(1);
  expect(paid).toBe(1);
});

test('after a process has died during a turn, a new process continues the turn and repeats no finished step', async () => {
  const open = await folderStore();
  let looked = 0;
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: { type: 'object' },
    execute: () => `seen ${(looked += 1)}`,
  });
  const process = (...replies: ScriptedReply[]): Promise<Ask> => {
    const model = new ScriptedModel(replies);
    const agent = ({ sessionId, memory }: { sessionId: string; memory: Memory }): ReActAgent =>
      new ReActAgent({ name: 'assistant', model, memory, sessionId, tools: [look] });
    return serveIt(
      createAgentHandler({
        store: storeSessions(open()),
        agent,
        authorize: () => ({ user: 'ann' }),
      }),
    );
  };
  let endProcess!: (reason: Error) => void;
  const hanging = new Promise<never>((_resolve, reject) => (endProcess = reject));
  hanging.catch(() => {});
  const dying = await process({ toolCalls: [{ name: 'look' }] }, { wait: () => hanging });
  const lost = await dying('/api/run', { sessionId: 'c1', input: 'Look' });
  const reader = lost.body!.getReader();
  for (let seen = ''; !/post-acting[^]*pre-reasoning/.test(seen);)
    seen += new TextDecoder().decode((await reader.read()).value);
  // The dead process lives in this one, so the test ends its run.
  onTestFinished(async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    endProcess(new Error('The process has died.'));
    for (let isDone = false; !isDone;) isDone = (await reader.read()).done;
  });
  const next = await process('All seen.');
  const run = await (await next('/api/run', { sessionId: 'c1' })).text();
  expect(run).toContain('"text":"All seen."');
  expect(looked).toBe(1);
});

test('a Next.js route file exports the methods, and they answer without bindings', async () => {
  const handler = handlerOf({ replies: ['Hello.'], store: new MemoryStore() });
  // In `app/api/[...path]/route.ts`: `export const { GET, POST, PATCH, DELETE } = handler`.
  const { GET, POST, PATCH, DELETE, OPTIONS } = handler;
  const routes: Readonly<Record<string, (request: Request, context: object) => unknown>> = {
    GET,
    POST,
    PATCH,
    DELETE,
    OPTIONS,
  };
  const ask = asker(
    async (path, init) =>
      (await routes[init.method!]!(new Request(`https://app.test${path}`, init), {
        params: Promise.resolve({ path: path.split('/').slice(2) }),
      })) as Response,
  );
  const chat = await ask('/api/chat', { id: 'c1', messages: [message('Hi')] });
  expect(textOf(await chat.text())).toBe('Hello.');
  expect((await ask('/api/chat/c1', { title: 'Mine' }, 'PATCH')).status).toBe(204);
  expect(await (await ask('/api/chats')).json()).toMatchObject({ chats: [{ title: 'Mine' }] });
  expect((await ask('/api/chat/c1', undefined, 'DELETE')).status).toBe(204);
});

test('the first turn of a conversation that has nothing to continue is refused, and creates none', async () => {
  const ask = await serveIt(handlerOf({ replies: [], store: new MemoryStore() }));
  expect((await ask('/api/run', { sessionId: 'c1' })).status).toBe(400);
  expect(await (await ask('/api/chats')).json()).toEqual({ chats: [] });
});

/** A store whose process dies at one of the operations that follow `watch`. */
class MortalStore {
  readonly store: MemoryStore = new MemoryStore();
  /** The store as the process sees it. */
  readonly seen: KeyValueStore;
  /** Resolves when the process reaches the operation at which it dies. */
  readonly death: Promise<void>;
  operations: number = 0;
  #dieAt = Infinity;
  #die!: () => void;
  #end!: (reason: Error) => void;

  constructor() {
    this.death = new Promise((resolve) => (this.#die = resolve));
    const lost = new Promise<never>((_resolve, reject) => (this.#end = reject));
    lost.catch(() => {});
    this.seen = new Proxy(this.store, {
      get: (target, key: keyof MemoryStore) => {
        const value: unknown = target[key];
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          if (this.operations++ < this.#dieAt) return value.apply(target, given) as unknown;
          this.#die();
          return lost;
        };
      },
    });
  }

  watch(dieAt: number): void {
    this.operations = 0;
    this.#dieAt = dieAt;
  }

  /** Lets all operations of the dead process fail, so that its runs end. */
  end(): void {
    this.#end(new Error('The process has died.'));
  }
}

/** Edits a conversation whose process dies at an operation. */
async function editUntil(dieAt: number): Promise<{
  readonly hasDied: boolean;
  readonly operations: number;
  readonly words: readonly string[];
}> {
  const mortal = new MortalStore();
  const askerOf = (handler: AgentHandler): Ask =>
    asker(async (path, init) => handler.fetch(new Request(`http://localhost${path}`, init)));
  const ask = askerOf(handlerOf({ replies: ['One.', 'Two.', 'New.'], store: mortal.seen }));
  for (const id of ['a', 'b'])
    await (await ask('/api/chat', { id: 'c', messages: [message(id, id)] })).text();
  mortal.watch(dieAt);
  const edit = ask('/api/chat', { id: 'c', messages: [message('new', 'a')] });
  const answer = edit.then((response) => response.text());
  const hasDied = await Promise.race([answer.then(() => false), mortal.death.then(() => true)]);
  const { operations } = mortal;
  const read = askerOf(handlerOf({ replies: [], store: mortal.store }));
  const { messages } = (await (await read('/api/chat/c/messages')).json()) as {
    readonly messages: readonly { readonly role: string; readonly parts: readonly object[] }[];
  };
  mortal.end();
  await answer;
  const asked = messages.filter(({ role }) => role === 'user');
  const words = asked.flatMap(({ parts }) => parts).map((part) => Object(part).text as string);
  return { hasDied, operations, words };
}

test('if the process dies during an edit, the conversation has the old message or the new one', async () => {
  // The dead processes report the failures of their store.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const { operations, words } = await editUntil(Infinity);
  expect(words).toEqual(['new']);
  const found = new Set<string>();
  for (let dieAt = 0; dieAt < operations; dieAt++) {
    const edit = await editUntil(dieAt);
    expect(edit.hasDied, `dead at operation ${dieAt}`).toBe(true);
    expect([['a', 'b'], ['new']], `dead at operation ${dieAt}`).toContainEqual(edit.words);
    found.add(edit.words.join());
  }
  expect(operations).toBeGreaterThanOrEqual(5);
  expect(found).toEqual(new Set(['a,b', 'new']));
});

test('if other code has read the body, the error says so, and where to mount the endpoint', async () => {
  const handler = handlerOf({ replies: ['Hello!'], store: new MemoryStore() });
  const answer = getRequestListener(handler.fetch);
  // Reads the body to its end, as `express.json()` does.
  const server = createServer((request, response) => {
    request.resume().once('end', () => void answer(request, response));
  });
  onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/api/chat`, {
    method: 'POST',
    headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
    body: JSON.stringify({ id: 's', messages: [] }),
  });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('`express.json()`, mount the endpoint before');
});

test('without authorize, an endpoint in Node answers a local client, but not HTTP/1.0 of a proxy', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  const model = new ScriptedModel([]);
  const handler = createAgentHandler({
    store: storeSessions(new MemoryStore()),
    agent: ({ memory }) => new ReActAgent({ name: 'assistant', model, memory }),
  });
  const { url } = await serveIt(handler);
  expect((await fetch(`${url}/api/chats`)).status).toBe(200);
  const { host, hostname, port } = new URL(url);
  const proxy = connect(Number(port), hostname);
  proxy.write(`GET /api/chats HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const answer = (await proxy.setEncoding('utf8').toArray()).join('');
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
});
