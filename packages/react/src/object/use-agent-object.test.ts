import { agentWorker } from '@isoloop/web-worker';
import { AgentError } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import type { ScriptedStep } from '@isoloop/core/testing';
import {
  useAgentObject,
  useChatObject,
  type AgentObjectHelpers,
  type UseAgentObjectOptions,
} from '@isoloop/react/object';
import {
  agentEndpoint,
  useAgentChat,
  type AgentChatHelpers,
  type AgentSource,
} from '@isoloop/react';
import { createElement as h, StrictMode, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server.browser';
import { expect, expectTypeOf, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';

const trip = z.object({ city: z.string(), stops: z.array(z.string()) });
type Trip = z.infer<typeof trip>;
const rome: Trip = { city: 'Rome', stops: ['Forum', 'Trastevere'] };

/** A reply that calls the output tool. Each piece of its arguments is a network read. */
function called(value: unknown, size = 8): ScriptedStep {
  const text = JSON.stringify(value);
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
  const deltas = pieces.map((delta, index) => [
    {
      type: 'tool-input' as const,
      index: 0,
      delta,
      ...(!index && { id: `c${text.length}`, name: 'generate_response' }),
    },
  ]);
  return { deltas };
}

/** Mounts a component with the hook. `all` has the object of each render. */
function mount<T = Trip>(source: AgentSource | undefined, options?: UseAgentObjectOptions) {
  const all: AgentObjectHelpers<T>[] = [];
  function View(): ReactNode {
    const helpers = useAgentObject<T>(source, options);
    useEffect(() => void all.push(helpers));
    return JSON.stringify(helpers.object);
  }
  const root = createRoot(document.createElement('div'));
  root.render(h(StrictMode, null, h(View)));
  onTestFinished(() => root.unmount());
  const last = () => all.at(-1)!;
  return { all, last, unmount: () => root.unmount() };
}

async function mountedAt(endpoint: ChatEndpoint, options?: UseAgentObjectOptions) {
  const view = mount(agentEndpoint('/api/chat', { fetch: endpoint.fetch }), options);
  await expect.poll(() => view.last()?.status).toBe('ready');
  return view;
}

const use = [...structured(trip)];

/** Returns the different objects that a page has shown, in their order. */
function shown<T>({ all }: { readonly all: readonly AgentObjectHelpers<T>[] }): readonly string[] {
  const texts = all.map(({ object }) => JSON.stringify(object) ?? 'none');
  return texts.filter((text, index) => text !== texts[index - 1]);
}

test('an endpoint’s object grows, and the request resolves with it', async () => {
  const endpoint = new ChatEndpoint([called(rome)], { use });
  const view = await mountedAt(endpoint);
  const result = view.last().submit({ days: 1 });
  expectTypeOf(result).toEqualTypeOf<Promise<Trip | undefined>>();
  expect(await result).toEqual(rome);
  await expect.poll(() => view.last().status).toBe('ready');
  expect(view.last()).toMatchObject({ object: rome, isBusy: false, error: undefined });
  const texts = shown(view);
  expect(texts).toContain('{"city":"Rome"}');
  expect(texts.filter((text) => text === JSON.stringify(rome))).toHaveLength(1);
  expect(new Set(view.all.map(({ status }) => status))).toEqual(
    new Set(['ready', 'submitted', 'streaming']),
  );
  await expect.poll(() => endpoint.requests).toEqual(['POST /api/chat', 'DELETE /api/chat/ID']);
});

test('an object as text of the answer grows, and a correction removes it', async () => {
  const wrong = { city: 'Oslo', stops: 'none' };
  const replies = [wrong, rome].map((value): ScriptedStep => ({
    deltas: Array.from(JSON.stringify(value), (delta) => [{ type: 'text', id: 't', delta }]),
  }));
  const view = await mountedAt(
    new ChatEndpoint(replies, { use: [...structured(trip, { mode: 'prompt' })] }),
  );
  expect(await view.last().submit('go')).toEqual(rome);
  await expect.poll(() => view.last().status).toBe('ready');
  const texts = shown(view);
  const gone = texts.indexOf('none', texts.indexOf(JSON.stringify(wrong)));
  expect(gone).toBeGreaterThan(0);
  expect(texts.slice(gone).join()).not.toContain('Oslo');
});

test('an error of the endpoint is `error`, and the next request removes it', async () => {
  const endpoint = new ChatEndpoint(
    [{ error: new AgentError('MODEL_SERVER', 'No.') }, called(rome)],
    { use },
  );
  const view = await mountedAt(endpoint);
  expect(await view.last().submit('go')).toBeUndefined();
  await expect
    .poll(() => view.last())
    .toMatchObject({ status: 'error', error: { code: 'MODEL_SERVER' } });
  expect(await view.last().submit('again')).toEqual(rome);
  await expect.poll(() => view.last()).toMatchObject({ status: 'ready', error: undefined });
});

test('stop() ends the run at the endpoint and keeps what has arrived, clear() removes it', async () => {
  const half: ScriptedStep = { ...called({ city: 'Rome' }, 12), hang: true };
  const endpoint = new ChatEndpoint([half, half, called(rome)], { use });
  const view = await mountedAt(endpoint);
  const first = view.last().submit('go');
  await expect.poll(() => view.last().object).toEqual({ city: 'Rome' });
  await view.last().stop();
  expect(await first).toBeUndefined();
  await expect.poll(() => endpoint.isRunning).toBe(false);
  await expect.poll(() => view.last()).toMatchObject({ status: 'ready', object: { city: 'Rome' } });
  await view.last().clear();
  await expect.poll(() => view.last().object).toBeUndefined();
  // A new request ends the one before it.
  const second = view.last().submit('go');
  await expect.poll(() => view.last().object).toEqual({ city: 'Rome' });
  expect(await view.last().submit('go')).toEqual(rome);
  expect(await second).toBeUndefined();
});

test('a page reads an object on if its stream falls silent or breaks off', async () => {
  for (const leave of ['forgetClients', 'dropClients'] as const) {
    const { reply, goOn } = halved(rome);
    const endpoint = new ChatEndpoint([reply], { use });
    const view = mount(agentEndpoint('/api/chat', { fetch: endpoint.fetch, silenceMs: 40 }));
    await expect.poll(() => view.last()?.status).toBe('ready');
    const result = view.last().submit('go');
    await expect.poll(() => view.last().object).toEqual(begun);
    endpoint[leave]();
    await expect.poll(() => endpoint.requests.at(-1)).toBe('GET /api/chat/ID/stream');
    goOn();
    expect(await result).toEqual(rome);
  }
});

test('if stop() fails, the object says that its run goes on', async () => {
  const half: ScriptedStep = { ...called({ city: 'Rome' }, 12), hang: true };
  const endpoint = new ChatEndpoint([half], { use });
  const fetch: typeof globalThis.fetch = async (url, init) =>
    String(url).endsWith('/interrupt')
      ? Response.json({ error: { code: 'UNAUTHORIZED', message: 'No.' } }, { status: 401 })
      : endpoint.fetch(url as string, init);
  const view = mount(agentEndpoint('/api/chat', { fetch }));
  await expect.poll(() => view.last()?.status).toBe('ready');
  void view.last().submit('go');
  await expect.poll(() => view.last().object).toEqual({ city: 'Rome' });
  await view.last().stop();
  expect(endpoint.isRunning).toBe(true);
  await expect
    .poll(() => view.last())
    .toMatchObject({ status: 'error', error: { code: 'UNAUTHORIZED' }, object: { city: 'Rome' } });
});

test('a component that unmounts stops its request', async () => {
  const half: ScriptedStep = { ...called({ city: 'Rome' }, 12), hang: true };
  const endpoint = new ChatEndpoint([half], { use });
  const view = await mountedAt(endpoint);
  void view.last().submit('go');
  await expect.poll(() => view.last().object).toEqual({ city: 'Rome' });
  view.unmount();
  await expect.poll(() => endpoint.isRunning).toBe(false);
});

/** What has arrived of `rome` before `goOn` is called. */
const begun = { city: 'Rome', stops: [] };

/** A reply with the object whose rest arrives when `goOn` is called. */
function halved(value: object) {
  let goOn = (): void => {};
  const wait = new Promise<void>((resolve) => (goOn = resolve));
  const { deltas = [] } = called(value, 12);
  return { reply: [{ deltas: deltas.slice(0, 2) }, { wait, deltas: deltas.slice(2) }], goOn };
}

test('a page that is loaded again has the object so far and the rest', async () => {
  const { reply, goOn } = halved(rome);
  const endpoint = new ChatEndpoint([reply], { use });
  const sessionId = crypto.randomUUID();
  const before = await mountedAt(endpoint, { sessionId });
  void before.last().submit('go');
  await expect.poll(() => before.last().object).toEqual(begun);
  const after = mount(agentEndpoint('/api/chat', { fetch: endpoint.fetch }), { sessionId });
  await expect.poll(() => after.last()?.object).toEqual(begun);
  expect(after.last()).toMatchObject({ status: 'streaming', isBusy: true });
  goOn();
  await expect.poll(() => after.last()).toMatchObject({ status: 'ready', object: rome });
  // In strict mode, a component mounts twice, and nothing stops the object.
  expect(endpoint.requests).toEqual([
    'GET /api/chat/ID/stream',
    'POST /api/chat',
    'GET /api/chat/ID/stream',
  ]);
});

test('a page that is loaded again can stop the object, or ask for another one', async () => {
  const half: ScriptedStep = { ...called({ city: 'Rome' }, 12), hang: true };
  const endpoint = new ChatEndpoint([half, half, called(rome)], { use });
  const sessionId = crypto.randomUUID();
  const before = await mountedAt(endpoint, { sessionId });
  const lost = before.last().submit('go');
  await expect.poll(() => before.last().object).toEqual({ city: 'Rome' });
  const after = mount(agentEndpoint('/api/chat', { fetch: endpoint.fetch }), { sessionId });
  await expect.poll(() => after.last()?.object).toEqual({ city: 'Rome' });
  await after.last().stop();
  await expect.poll(() => endpoint.isRunning).toBe(false);
  await expect
    .poll(() => after.last())
    .toMatchObject({ status: 'ready', object: { city: 'Rome' }, error: undefined });
  // The page that has asked sees that somebody has stopped the object.
  expect(await lost).toBeUndefined();
  await expect.poll(() => before.last()).toMatchObject({ status: 'ready', error: undefined });
  void before.last().submit('go');
  await expect.poll(() => endpoint.isRunning).toBe(true);
  const third = mount(agentEndpoint('/api/chat', { fetch: endpoint.fetch }), { sessionId });
  await expect.poll(() => third.last()?.object).toEqual({ city: 'Rome' });
  expect(await third.last().submit('again')).toEqual(rome);
});

test('a page without an object on its way shows none, and asks only with a session id', async () => {
  const endpoint = new ChatEndpoint([], { use });
  const view = await mountedAt(endpoint, { sessionId: crypto.randomUUID() });
  const other = await mountedAt(endpoint);
  await expect.poll(() => endpoint.requests).toEqual(['GET /api/chat/ID/stream']);
  view.unmount();
  other.unmount();
  await new Promise((resolve) => queueMicrotask(() => resolve(undefined)));
  expect(endpoint.requests).toEqual(['GET /api/chat/ID/stream']);
  expect([...view.all, ...other.all].every(({ status }) => status === 'ready')).toBe(true);
});

test.for(['Failed to fetch', undefined])(
  'a lost connection has a code, and a page that is loaded again reads on (%s)',
  async (text) => {
    const { reply, goOn } = halved(rome);
    const endpoint = new ChatEndpoint([reply], { use });
    const sessionId = crypto.randomUUID();
    const view = await mountedAt(endpoint, { sessionId });
    const result = view.last().submit('go');
    await expect.poll(() => view.last().object).toEqual(begun);
    // Nobody can rejoin the run, so the page has nothing to read on.
    endpoint.isKv = true;
    endpoint.dropClients(text);
    expect(await result).toBeUndefined();
    await expect
      .poll(() => view.last())
      .toMatchObject({ status: 'error', error: { code: 'MODEL_UNREACHABLE' } });
    expect(view.last().object).toEqual(begun);
    endpoint.isKv = false;
    const after = mount(agentEndpoint('/api/chat', { fetch: endpoint.fetch }), { sessionId });
    await expect.poll(() => after.last()?.object).toEqual(begun);
    goOn();
    await expect.poll(() => after.last()).toMatchObject({ status: 'ready', object: rome });
  },
);

test('an endpoint of another version is refused, and so is the name of an output', async () => {
  const answer = async (): Promise<Response> => new Response('data: [DONE]\n\n');
  const view = mount(agentEndpoint('/api/chat', { fetch: answer }));
  await expect.poll(() => view.last()?.status).toBe('ready');
  expect(await view.last().submit('go')).toBeUndefined();
  await expect.poll(() => view.last()).toMatchObject({ error: { code: 'CONFIGURATION' } });
  const named = await mountedAt(new ChatEndpoint([], { use }), { output: 'trip' });
  await named.last().submit('go');
  await expect
    .poll(() => named.last().error?.message)
    .toBe('useAgentObject() with an endpoint has no option `output`. It has: sessionId.');
});

test('a page renders once for each object', async () => {
  const endpoint = new ChatEndpoint([called(rome, 4)], { use });
  const view = await mountedAt(endpoint);
  const before = view.all.length;
  await view.last().submit('go');
  await expect.poll(() => view.last().status).toBe('ready');
  const different = new Set(view.all.slice(before).map(({ object }) => JSON.stringify(object)));
  // Submitted, each object, and ready.
  expect(view.all.length - before).toBeLessThanOrEqual(different.size + 2);
});

test('the object of a worker has the values of its schema', async () => {
  const worker = new Worker(
    new URL('../../../web-worker/test-support/typed-worker.ts', import.meta.url),
    {
      type: 'module',
    },
  );
  onTestFinished(() => worker.terminate());
  interface Invoice {
    readonly total: number;
    readonly due: Date;
  }
  const mountInvoice = async (reply: ScriptedStep) => {
    const agentOptions = { agent: 'clerk', timeoutMs: 120_000, options: { replies: [reply] } };
    const view = mount<Invoice>(agentWorker(worker, agentOptions), { output: 'invoice' });
    await expect.poll(() => view.last()?.status).toBe('ready');
    return view;
  };
  const half = await mountInvoice({ ...called({ total: 42 }), hang: true });
  const stopped = half.last().submit('go');
  await expect.poll(() => half.last().object).toEqual({ total: 42 });
  await half.last().stop();
  expect(await stopped).toBeUndefined();
  await expect
    .poll(() => half.last())
    .toMatchObject({ status: 'ready', object: { total: 42 }, error: undefined });
  const whole = await mountInvoice(called({ total: 42, due: '2027-03-01' }));
  const invoice = { total: 42, due: new Date('2027-03-01') };
  expect(await whole.last().submit('go')).toEqual(invoice);
  await expect.poll(() => whole.last().object).toEqual(invoice);
});

test('items of a list are complete', async () => {
  const cities = Array.from({ length: 3 }, (_, id) => ({ id, name: `City ${id}` }));
  const list = z.array(z.object({ id: z.number(), name: z.string() }));
  const endpoint = new ChatEndpoint([called({ response: cities }, 3)], {
    use: [...structured(list)],
  });
  const view = mount<z.infer<typeof list>>(agentEndpoint('/api/chat', { fetch: endpoint.fetch }));
  await expect.poll(() => view.last()?.status).toBe('ready');
  await view.last().submit('go');
  await expect.poll(() => view.last().items).toEqual(cities);
  const counts = view.all.map(({ items }) => items.length);
  expect(new Set(counts)).toEqual(new Set([0, 1, 2, 3]));
  for (const { items } of view.all)
    for (const [index, item] of items.entries()) expect(item).toEqual(cities[index]);
});

test('a chat has the object of its last answer', async () => {
  const endpoint = new ChatEndpoint([called(rome, 4), called({ city: 'Oslo', stops: [] })], {
    use,
  });
  const source = agentEndpoint('/api/chat', { fetch: endpoint.fetch });
  const sessionId = crypto.randomUUID();
  const texts: string[] = [];
  let send = async (_text: string): Promise<void> => {};
  let status = '';
  function View(): ReactNode {
    const chat = useAgentChat(source, { sessionId });
    const object = useChatObject<Trip>(chat);
    expectTypeOf(object?.stops?.[0]).toEqualTypeOf<string | undefined>();
    useEffect(() => {
      send = (text) => chat.sendMessage({ text });
      status = chat.status;
      texts.push(JSON.stringify(object) ?? 'none');
    });
    return null;
  }
  const root = createRoot(document.createElement('div'));
  root.render(h(StrictMode, null, h(View)));
  onTestFinished(() => root.unmount());
  await expect.poll(() => status).toBe('ready');
  await send('go');
  await expect.poll(() => texts.at(-1)).toBe(JSON.stringify(rome));
  expect(texts).toContain('{"city":"Rome"}');
  expect(texts).toContain('{"city":"Rome","stops":["Forum"]}');
  const before = texts.length;
  await send('again');
  await expect.poll(() => texts.at(-1)).toBe('{"city":"Oslo","stops":[]}');
  expect(texts.slice(before)).toContain('none');
});

test('after a reload, a chat shows the object that is still on its way', async () => {
  const half: ScriptedStep = { ...called({ city: 'Rome' }, 12), hang: true };
  const endpoint = new ChatEndpoint([half], { use });
  const sessionId = crypto.randomUUID();
  const mountChat = (api: string) => {
    const page: { object?: unknown; chat?: AgentChatHelpers } = {};
    const source = agentEndpoint(api, { fetch: endpoint.fetch });
    function View(): ReactNode {
      const chat = useAgentChat(source, { sessionId });
      const object = useChatObject<Trip>(chat);
      useEffect(() => void Object.assign(page, { object, chat }));
      return null;
    }
    const root = createRoot(document.createElement('div'));
    root.render(h(View));
    onTestFinished(() => root.unmount());
    return page;
  };
  const before = mountChat('/api/chat');
  await expect.poll(() => before.chat?.status).toBe('ready');
  void before.chat!.sendMessage({ text: 'go' });
  await expect.poll(() => before.object).toEqual({ city: 'Rome' });
  // A loaded page has chats of its own, which another spelling of the address gives here.
  const after = mountChat(new URL('/api/chat', location.href).href);
  await expect.poll(() => after.object).toEqual({ city: 'Rome' });
  await after.chat!.stop();
  await expect.poll(() => endpoint.isRunning).toBe(false);
});

test('on a server, the page has no object', () => {
  const Page = (): ReactNode => useAgentObject(undefined).status;
  expect(renderToString(h(Page))).toBe('ready');
});
