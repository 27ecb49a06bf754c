import { userMessage } from '@isoloop/core';
import { endpointSource, workerSource } from '@isoloop/inspector';
import { expect, onTestFinished, test } from 'vitest';
import { startWorker } from '../../../web-worker/test-support/worker-under-test.ts';

type Answers = Readonly<Record<string, () => Response>>;

/** A source with the answers of an endpoint, by method and path. Other routes are not found. */
function sourceOf(answers: Answers) {
  const asked: string[] = [];
  const source = endpointSource('/api/chat', {
    headers: { authorization: 'Bearer ann' },
    pollMs: 5,
    fetch: async (url, init) => {
      const { pathname, search } = new URL(url);
      const route = `${init.method ?? 'GET'} ${pathname}${search}`;
      asked.push(`${route} ${String(init.body ?? '')}`.trim());
      expect(new Headers(init.headers).get('authorization')).toBe('Bearer ann');
      return answers[route]?.() ?? refusal(404, 'NOT_FOUND');
    },
  });
  return { source, asked };
}

function refusal(status: number, code: string): Response {
  return Response.json({ error: { code, message: `It says ${code}.` } }, { status });
}

const event = { type: 'run-start', runId: 'r', seq: 1, iteration: 0, at: 1, agentPath: ['a'] };
const stream = 'GET /api/chat/s/stream?events=inspect';

test('events are read from each turn, with a look for the next one after the end of a turn', async () => {
  const turns = [
    new Response(null, { status: 204 }),
    new Response(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`),
    new Response(null, { status: 204 }),
    new Response(`data: ${JSON.stringify({ ...event, runId: 'next' })}\n\ndata: [DONE]\n\n`),
  ];
  const { source, asked } = sourceOf({ [stream]: () => turns.shift()! });
  const stop = new AbortController();
  const runs: string[] = [];
  for await (const batch of source.events('s', stop.signal)) {
    runs.push(...batch.map(({ runId }) => runId));
    if (runs.length === 2) break;
  }
  expect(runs).toEqual(['r', 'next']);
  expect(asked).toEqual([stream, stream, stream, stream]);
});

test('a chat of the same browser wakes the reader at once', async () => {
  const turns = [
    () => new Response(null, { status: 204 }),
    () => new Response(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`),
  ];
  const source = endpointSource('/api/chat', {
    pollMs: 1_000_000,
    fetch: async () => turns.shift()!(),
  });
  const reading = source.events('s', new AbortController().signal)[Symbol.asyncIterator]();
  const first = reading.next();
  await expect.poll(() => turns.length).toBe(1);
  const chat = new BroadcastChannel(`isoloop:chat:${new URL('/api/chat/s', location.href).href}`);
  onTestFinished(() => chat.close());
  chat.postMessage('changed');
  expect((await first).value).toMatchObject([{ runId: 'r' }]);
  await reading.return?.();
});

test('an endpoint without `moves` has no records, and another failure is told', async () => {
  expect(await sourceOf({}).source.records('s')).toEqual([]);
  const refused = sourceOf({ 'GET /api/chat/s': () => refusal(401, 'UNAUTHORIZED') });
  await expect(refused.source.records('s')).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  const closed = sourceOf({ [stream]: () => refusal(429, 'LIMIT_EXCEEDED') });
  const events = closed.source.events('s', new AbortController().signal);
  await expect(events[Symbol.asyncIterator]().next()).rejects.toThrow('It says LIMIT_EXCEEDED.');
});

test('a fork stores the messages first, and then asks the agent', async () => {
  const done = (): Response => new Response(null, { status: 204 });
  const routes: string[] = [];
  const source = endpointSource('/api/chat', {
    model: 'fast',
    fetch: async (url, init) => {
      routes.push(`${init.method} ${new URL(url).pathname} ${String(init.body)}`);
      return done();
    },
  });
  const message = userMessage('Hello.', { id: 'q' });
  const sessionId = await source.fork!({ messages: [message], input: 'And now?' });
  const [put, run] = routes as [string, string];
  expect(put).toContain(`PUT /api/chat/${sessionId} `);
  expect(JSON.parse(put.slice(put.indexOf('{')))).toMatchObject({
    sessionId,
    records: [{ kind: 'message', message: { id: 'q' } }],
  });
  expect(run).toBe(
    `POST /api/run ${JSON.stringify({ sessionId, model: 'fast', input: 'And now?' })}`,
  );
});

test.each([undefined, null, 5, '', ' '])('no source reads the session %j', async (id) => {
  const { source, asked } = sourceOf({});
  const { worker } = startWorker();
  const inWorker = workerSource(worker, { agent: 'main', database: `ids-${crypto.randomUUID()}` });
  for (const each of [source, inWorker]) {
    const problem = { name: 'AgentError', message: expect.stringContaining('not blank') };
    await expect(each.records(id as string)).rejects.toMatchObject(problem);
    const reading = each.events(id as string, new AbortController().signal);
    await expect(reading[Symbol.asyncIterator]().next()).rejects.toMatchObject(problem);
  }
  expect(asked).toEqual([]);
});
