import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { AgentError, tool } from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import { expect, test, vi } from 'vitest';
import {
  ask,
  codeOf,
  deltasIn,
  gate,
  leave,
  open,
  textOf,
  type Session,
} from '../../test-support/session-client.ts';
import { killObject, killObjects } from '../../test-support/kill-objects.ts';
import { fakeDate } from '@test/clock/fake-date.ts';

// The tests send two requests at once to one session, for every pair of routes. The session answers
// one request at a time, so the second request waits.

const header = (id: string): Record<string, string> => ({ 'x-isoloop-session': id });

const ways = {
  chat: (session: Session, text: string) =>
    session.post('/api/chat', { id: session.id, messages: [ask(text)] }),
  run: (session: Session, text: string) => session.run({ input: text }),
  'streamed completion': (session: Session, text: string) => complete(session, text, true),
  'whole completion': (session: Session, text: string) => complete(session, text, false),
} satisfies Record<string, (session: Session, text: string) => Promise<Response>>;
type Way = keyof typeof ways;
const names = Object.keys(ways) as Way[];
const streams = names.filter((way) => way !== 'whole completion');

function complete(
  session: Session,
  content: string,
  stream: boolean,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = { model: 'offline', messages: [{ role: 'user', content }], stream };
  return session.post('/v1/chat/completions', body, { ...header(session.id), ...headers });
}

const alarmed = (session: Session): Promise<boolean> => runDurableObjectAlarm(session.stub);
const waiting = (session: Session): Promise<number> =>
  runInDurableObject(
    session.stub,
    (_, { storage }) =>
      storage.sql
        .exec<{ n: number }>('SELECT COUNT(*) AS n FROM isoloop_queue WHERE bytes IS NOT NULL')
        .one().n,
  );
const untilWaiting = async (session: Session, count: number): Promise<void> => {
  await expect.poll(() => waiting(session)).toBe(count);
};
const texts = async (session: Session): Promise<string[]> => (await session.messages()).map(textOf);

test.each(names.flatMap((first) => names.map((second) => [first, second] as const)))(
  'a session answers a %s and then a %s that are sent at once',
  async (first, second) => {
    const held = gate();
    const session = open([{ wait: held.passed, text: 'One.' }, 'Two.']);
    const one = ways[first](session, 'A');
    await untilWaiting(session, 1);
    const two = ways[second](session, 'B');
    await untilWaiting(session, 2);
    expect(session.script.model.requests.length).toBe(1);
    held.open();
    const [told, after] = await Promise.all([one, two].map(async (each) => (await each).text()));
    expect([
      told!.includes('One.'),
      told!.includes('Two.'),
      after!.includes('One.'),
      after!.includes('Two.'),
    ]).toEqual([true, false, false, true]);
    expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
    await untilWaiting(session, 0);
  },
);

test.each(streams)('a waiting %s is answered even if its client disconnects', async (way) => {
  const held = gate();
  const session = open([{ wait: held.passed, text: 'One.' }, 'Two.', 'Three.']);
  await (await session.run({ input: 'A' }, {})).body?.cancel().catch(() => {});
  await untilWaiting(session, 1);
  const two = await ways[way](session, 'B');
  await two.body!.cancel();
  const three = await ways[way](session, 'C');
  held.open();
  expect(await three.text()).toContain('Three.');
  expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.', 'C', 'Three.']);
});

test('a waiting completion that is not streamed is answered even if its client disconnects', async () => {
  const held = gate();
  const session = open([{ wait: held.passed, text: 'One.' }, 'Two.']);
  const one = ways.chat(session, 'A');
  await untilWaiting(session, 1);
  const controller = new AbortController();
  const two = session.send('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...header(session.id) },
    body: JSON.stringify({ model: 'offline', messages: [{ role: 'user', content: 'B' }] }),
    signal: controller.signal,
  });
  two.catch(() => {});
  await untilWaiting(session, 2);
  controller.abort();
  held.open();
  await (await one).text();
  await expect.poll(() => texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
});

test.each(names)('a %s that waits when the isolate dies is answered once', async (way) => {
  const session = open([{ text: 'Half', hang: true }, 'One.', 'Two.']);
  await leave(await ways.chat(session, 'A'), 'Half');
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const two = ways[way](session, 'B');
  await untilWaiting(session, 2);
  // Aborts the object, because an eviction would wait for the requests.
  await killObjects();
  const told = await two;
  if (way === 'whole completion') expect(await codeOf(told)).toEqual([503, 'STORAGE_FAILED']);
  else await expect(told.text()).rejects.toThrow();
  log.mockRestore();
  expect(await alarmed(session)).toBe(true);
  await expect.poll(() => texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
  await untilWaiting(session, 0);
  expect(session.script.model.requests.length).toBe(3);
});

test.each(names)(
  'a %s that waits when its session is deleted fails with ABORTED, and the deletion leaves no data',
  async (way) => {
    const session = open([{ text: 'Half', hang: true }, 'New.']);
    const first = await ways.chat(session, 'A');
    const two = ways[way](session, 'B');
    await untilWaiting(session, 2);
    expect((await session.send(`/api/chat/${session.id}`, { method: 'DELETE' })).status).toBe(204);
    await first.text();
    const told = await two;
    if (way === 'whole completion') expect(await codeOf(told)).toEqual([499, 'ABORTED']);
    else {
      const text = await told.text();
      expect(text).toContain('ABORTED');
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    }
    expect([await session.messages(), await session.list()]).toEqual([[], []]);
    expect(await (await ways[way](session, 'Hello')).text()).toContain('New.');
    expect(await texts(session)).toEqual(['Hello', 'New.']);
  },
);

test.each(names)(
  'an interrupt ends the current answer, and the session answers the waiting %s',
  async (way) => {
    const session = open([{ text: 'Half', hang: true }, 'Two.']);
    const first = await ways.run(session, 'A');
    const two = ways[way](session, 'B');
    await untilWaiting(session, 2);
    const stopped = await session.post(`/api/chat/${session.id}/interrupt`, {});
    expect(await stopped.json()).toEqual({ interrupted: true });
    expect(deltasIn(await first.text())).toContain('Half');
    expect(await (await two).text()).toContain('Two.');
    expect(await texts(session)).toEqual(['A', expect.stringContaining('Half'), 'B', 'Two.']);
  },
);

test('a session answers concurrent requests of many connections once each, and one after the other', async () => {
  const session = open(Array.from({ length: 12 }, (_, index) => `Answer ${index}.`));
  const asked = Array.from({ length: 12 }, (_, index) => `Question ${index}`);
  const answers = await Promise.all(
    asked.map(async (text, index) => (await ways[names[index % 4]!](session, text)).text()),
  );
  const shown = await texts(session);
  expect(shown.filter((_, index) => index % 2 === 0).toSorted()).toEqual(asked.toSorted());
  for (const [index, text] of asked.entries())
    expect(answers[index]).toContain(shown[shown.indexOf(text) + 1]!.split(' ')[1]!);
  expect(session.script.model.requests.length).toBe(12);
});

test('a full queue rejects a request and stores nothing of it; a request with a known idempotency key still finds its waiting turn', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const held = gate();
  const session = open([{ wait: held.passed, text: 'One.' }, 'Two.', 'Three.'], { brief: true });
  const keyed = { 'idempotency-key': 'k' };
  const answers = [
    await session.run({ input: 'A' }),
    await session.run({ input: 'B' }, keyed),
    await session.run({ input: 'C' }),
  ];
  for (const way of names) {
    const response = await ways[way](session, 'D');
    expect([response.headers.get('retry-after'), ...(await codeOf(response))]).toEqual([
      '10',
      503,
      'OVERLOADED',
    ]);
  }
  expect(await waiting(session)).toBe(3);
  answers.push(await session.run({ input: 'B' }, keyed));
  held.open();
  const told = await Promise.all(answers.map(async (each) => deltasIn(await each.text())));
  expect(told).toEqual(['One.', 'Two.', 'Three.', 'Two.']);
  expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.', 'C', 'Three.']);
  log.mockRestore();
});

test('a session gives up a request whose isolate dies before each attempt, and answers the next request', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const session = open(['One.', 'Two.']);
  await (await ways.chat(session, 'A')).text();
  await runInDurableObject(session.stub, (_, { storage }) => {
    const turn = (text: string): string =>
      JSON.stringify({
        request: {
          kind: 'messages',
          messages: [
            {
              id: text,
              role: 'user',
              content: [{ type: 'text', text }],
              createdAt: '2026-01-01T00:00:00.000Z',
            },
          ],
        },
        model: 'offline',
        messageId: text,
        requestId: `request-${text}`,
      });
    for (const [id, attempts, text] of [
      [50, 4, 'Deadly'],
      [51, 3, 'Last try'],
    ] as const) {
      storage.sql.exec(
        'INSERT INTO isoloop_queue VALUES (?, 0, 0, ?, NULL, ?)',
        id,
        attempts,
        new TextEncoder().encode(turn(text)),
      );
    }
  });
  await killObject(session.stub);
  await expect.poll(() => texts(session)).toEqual(['A', 'One.', 'Last try', 'Two.']);
  expect(log.mock.calls.flat().join()).toContain('request-Deadly');
  log.mockRestore();
});

test('a message that was accepted while others wait delays the end of the session', async () => {
  const color = tool({ name: 'color', description: 'A color', input: { type: 'object' } });
  const held = gate();
  const asks = { toolCalls: [{ id: 'c1', name: 'color', input: {} }], wait: held.passed };
  const session = open([asks as ScriptedReply], { brief: true, tools: [color] });
  const post = async (text: string): Promise<Response> =>
    session.post('/api/chat', { id: session.id, messages: [ask(text)], queue: true });
  const first = await post('Paint');
  await post('Hello');
  held.open();
  await first.text();
  const start = Date.now();
  const later = fakeDate(start + 3_500_000);
  expect((await post('More')).status).toBe(202);
  later.restore();
  const muchLater = fakeDate(start + 3_700_000);
  await alarmed(session);
  muchLater.restore();
  expect((await texts(session))[0]).toBe('Paint');
  expect(await waiting(session)).toBe(2);
});

test('a session expires even if its object was evicted before', async () => {
  const session = open(['One.', 'Two.'], { brief: true });
  await (await ways.run(session, 'A')).text();
  const alarm = (): Promise<number | null> =>
    runInDurableObject(session.stub, (_, { storage }) => storage.getAlarm());
  await expect.poll(alarm).toBeGreaterThan(Date.now() + 3_000_000);
  await killObject(session.stub);
  await alarmed(session);
  expect(await texts(session)).toEqual(['A', 'One.']);
  await killObject(session.stub);
  const date = fakeDate(Date.now() + 3_700_000);
  await alarmed(session);
  date.restore();
  expect([await session.messages(), await session.list(), await alarm()]).toEqual([[], [], null]);
});

const one = (session: Session, text: string, id: string): Promise<Response> =>
  session.post('/api/chat', { id: session.id, messages: [ask(text, id)] });

const answerIn = (text: string): string => /"messageId":"([^"]+)"/.exec(text)![1]!;

test('a message that is posted twice gets the same answer while the first request runs or waits', async () => {
  const held = gate();
  const session = open([{ wait: held.passed, text: 'One.' }, 'Two.']);
  const running = one(session, 'A', 'm1');
  await untilWaiting(session, 1);
  const queued = one(session, 'B', 'm2');
  await untilWaiting(session, 2);
  const again = [one(session, 'A', 'm1'), one(session, 'B', 'm2')];
  held.open();
  const [first, second, firstAgain, secondAgain] = await Promise.all(
    [running, queued, ...again].map(async (each) => (await each).text()),
  );
  expect(first).toContain('One.');
  expect(answerIn(firstAgain!)).toBe(answerIn(first!));
  expect(second).toContain('Two.');
  expect(answerIn(secondAgain!)).toBe(answerIn(second!));
  expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
});

test('a message that was edited or already answered is answered again when it is posted again', async () => {
  const held = gate();
  const session = open([{ wait: held.passed, text: 'One.' }, 'Two.', 'Three.']);
  const running = one(session, 'A', 'm1');
  await untilWaiting(session, 1);
  const edited = one(session, 'B', 'm1');
  await untilWaiting(session, 2);
  held.open();
  expect(await (await running).text()).toContain('One.');
  expect(await (await edited).text()).toContain('Two.');
  expect(await texts(session)).toEqual(['B', 'Two.']);
  expect(await (await one(session, 'B', 'm1')).text()).toContain('Three.');
});

const keyed = {
  run: (session: Session, text: string, key: string) =>
    session.run({ input: text }, { 'idempotency-key': key }),
  'streamed completion': (session: Session, text: string, key: string) =>
    complete(session, text, true, { 'idempotency-key': key }),
  'whole completion': (session: Session, text: string, key: string) =>
    complete(session, text, false, { 'idempotency-key': key }),
} satisfies Partial<
  Record<Way, (session: Session, text: string, key: string) => Promise<Response>>
>;

test.each(Object.entries(keyed))(
  'a %s with a known idempotency key returns the answer of that key, whether it runs, waits or is the last one',
  async (_way, post) => {
    const held = gate();
    const session = open([{ wait: held.passed, text: 'One.' }, 'Two.', 'Three.']);
    const running = post(session, 'A', 'k1');
    await untilWaiting(session, 1);
    const queued = post(session, 'B', 'k2');
    await untilWaiting(session, 2);
    const again = [post(session, 'A', 'k1'), post(session, 'B', 'k2')];
    held.open();
    const told = await Promise.all(
      [running, ...again, queued].map(async (each) => (await each).text()),
    );
    expect(told.map((text) => [text.includes('One.'), text.includes('Two.')])).toEqual([
      [true, false],
      [true, false],
      [false, true],
      [false, true],
    ]);
    await untilWaiting(session, 0);
    expect(await (await post(session, 'B', 'k2')).text()).toContain('Two.');
    expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
    expect(await (await post(session, 'C', 'k3')).text()).toContain('Three.');
  },
);

test('a failed request runs again under its idempotency key, and a request without a key always runs', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const session = open([
    { error: new AgentError('MODEL_SERVER', 'busy', { retryable: true }) },
    'One.',
    'Two.',
    'Three.',
  ]);
  expect(await codeOf(await keyed['whole completion'](session, 'A', 'k1'))).toEqual([
    502,
    'MODEL_SERVER',
  ]);
  expect(await (await keyed['whole completion'](session, 'A', 'k1')).text()).toContain('One.');
  expect(await (await complete(session, 'A', false)).text()).toContain('Two.');
  expect(await (await complete(session, 'A', false)).text()).toContain('Three.');
  log.mockRestore();
});

test.each(['a b', 'x'.repeat(256)])('a session rejects the idempotency key %j', async (key) => {
  expect(await codeOf(await keyed.run(open([]), 'A', key))).toEqual([400, 'INVALID_INPUT']);
});

test('retries of OpenAI’s client ask the model once if they have an idempotency key', async () => {
  const session = open(['One.', 'Two.']);
  let requests = 0;
  const client = session.openai.withOptions({
    maxRetries: 2,
    fetch: (async (input: RequestInfo, init?: RequestInit) => {
      requests += 1;
      const response = await session.send(input, init);
      if (requests > 1) return response;
      await response.text();
      throw new TypeError('Network connection lost.');
    }) as typeof fetch,
  });
  const messages = [{ role: 'user', content: 'A' }] as const;
  const answer = await client.chat.completions.create(
    { model: 'offline', messages: [...messages] },
    { headers: { 'idempotency-key': crypto.randomUUID() } },
  );
  expect([requests, answer.choices[0]!.message.content]).toEqual([2, 'One.']);
  expect(await texts(session)).toEqual(['A', 'One.']);
});

test('an idempotency key survives the death of an isolate', async () => {
  const held = gate();
  const session = open([
    { text: 'So far ', hang: true },
    { wait: held.passed, text: 'One.' },
  ]);
  await leave(await keyed.run(session, 'A', 'k1'), 'far ');
  await killObjects();
  const again = keyed.run(session, 'A', 'k1');
  held.open();
  expect(deltasIn(await (await again).text())).toContain('One.');
  expect((await texts(session)).length).toBe(2);
});
