import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import { ask, codeOf, deltasIn, gate, leave, open, textOf, type Session } from './session-client.fixture.ts';

// Two requests at once on one session, in every pair of ways to ask, and what becomes of the one that waits.

const header = (id: string): Record<string, string> => ({ 'x-isoloop-session': id });

const ways = {
  chat: (session: Session, text: string) => session.post('/api/chat', { id: session.id, messages: [ask(text)] }),
  run: (session: Session, text: string) => session.run({ input: text }),
  'streamed completion': (session: Session, text: string) => complete(session, text, true),
  'whole completion': (session: Session, text: string) => complete(session, text, false),
} satisfies Record<string, (session: Session, text: string) => Promise<Response>>;
type Way = keyof typeof ways;
const names = Object.keys(ways) as Way[];
const streams = names.filter((way) => way !== 'whole completion');

function complete(session: Session, content: string, stream: boolean): Promise<Response> {
  const body = { model: 'offline', messages: [{ role: 'user', content }], stream };
  return session.post('/v1/chat/completions', body, header(session.id));
}

const alarmed = (session: Session): Promise<boolean> => runDurableObjectAlarm(session.stub);
const waiting = (session: Session): Promise<number> =>
  runInDurableObject(session.stub, (_, { storage }) => storage.sql.exec<{ n: number }>('SELECT COUNT(*) AS n FROM isoloop_turns').one().n);
const untilWaiting = (session: Session, count: number): Promise<void> => vi.waitFor(async () => expect(await waiting(session)).toBe(count));
const texts = async (session: Session): Promise<string[]> => (await session.messages()).map(textOf);

test.each(names.flatMap((first) => names.map((second) => [first, second] as const)))(
  'a %s and a %s at once: the second waits, and both are answered',
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
    expect([told!.includes('One.'), told!.includes('Two.'), after!.includes('One.'), after!.includes('Two.')]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
    await untilWaiting(session, 0);
  },
);

test.each(streams)('a client of a %s that goes away while it waits keeps its turn', async (way) => {
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

test('a client of a whole completion that goes away while it waits keeps its turn', async () => {
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
  await vi.waitFor(async () => expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']));
});

test.each(names)('a %s that waits when the isolate dies has its turn all the same, once', async (way) => {
  const session = open([{ text: 'Half', hang: true }, 'One.', 'Two.']);
  await leave(await ways.chat(session, 'A'), 'Half');
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const two = ways[way](session, 'B');
  await untilWaiting(session, 2);
  // An eviction would wait for the requests.
  await abortAllDurableObjects();
  const told = await two;
  if (way === 'whole completion') expect(await codeOf(told)).toEqual([503, 'STORAGE_FAILED']);
  else await expect(told.text()).rejects.toThrow();
  log.mockRestore();
  expect(await alarmed(session)).toBe(true);
  await vi.waitFor(async () => expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']));
  await untilWaiting(session, 0);
  expect(session.script.model.requests.length).toBe(3);
});

test.each(names)('a %s that waits when its session is deleted is told so, and nothing is left', async (way) => {
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
});

test.each(names)('an interrupt ends the turn that runs, and a %s behind it is answered', async (way) => {
  const session = open([{ text: 'Half', hang: true }, 'Two.']);
  const first = await ways.run(session, 'A');
  const two = ways[way](session, 'B');
  await untilWaiting(session, 2);
  const stopped = await session.post(`/api/chat/${session.id}/interrupt`, { message: ' Stopped.' });
  expect(await stopped.json()).toEqual({ interrupted: true });
  expect(deltasIn(await first.text())).toContain('Half');
  expect(await (await two).text()).toContain('Two.');
  expect(await texts(session)).toEqual(['A', expect.stringContaining('Half'), 'B', 'Two.']);
});

test('requests at once from many connections are each answered once, in one order', async () => {
  const session = open(Array.from({ length: 12 }, (_, index) => `Answer ${index}.`));
  const asked = Array.from({ length: 12 }, (_, index) => `Question ${index}`);
  const answers = await Promise.all(asked.map(async (text, index) => (await ways[names[index % 4]!](session, text)).text()));
  const shown = await texts(session);
  expect(shown.filter((_, index) => index % 2 === 0).toSorted()).toEqual(asked.toSorted());
  for (const [index, text] of asked.entries()) expect(answers[index]).toContain(shown[shown.indexOf(text) + 1]!.split(' ')[1]!);
  expect(session.script.model.requests.length).toBe(12);
});

test('a turn whose isolate dies each time before it has begun is given up, and the next one taken', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const session = open(['One.', 'Two.']);
  await (await ways.chat(session, 'A')).text();
  await runInDurableObject(session.stub, (_, { storage }) => {
    const turn = (text: string): string =>
      JSON.stringify({
        turn: {
          kind: 'messages',
          messages: [{ id: text, role: 'user', content: [{ type: 'text', text }], createdAt: '2026-01-01T00:00:00.000Z' }],
        },
        model: 'offline',
        messageId: text,
        requestId: `request-${text}`,
      });
    for (const [id, attempts, text] of [
      [50, 4, 'Deadly'],
      [51, 3, 'Last try'],
    ] as const) {
      storage.sql.exec('INSERT INTO isoloop_turns (id, begun, attempts) VALUES (?, 0, ?)', id, attempts);
      storage.sql.exec('INSERT INTO isoloop_turn_pieces VALUES (?, 0, ?)', id, new TextEncoder().encode(turn(text)));
    }
  });
  await evictDurableObject(session.stub);
  await vi.waitFor(async () => expect(await texts(session)).toEqual(['A', 'One.', 'Last try', 'Two.']));
  expect(log.mock.calls.flat().join()).toContain('request-Deadly');
  log.mockRestore();
});

test('a session that expires does so also when its object was put to sleep meanwhile', async () => {
  const session = open(['One.', 'Two.'], { brief: true });
  await (await ways.run(session, 'A')).text();
  const alarm = (): Promise<number | null> => runInDurableObject(session.stub, (_, { storage }) => storage.getAlarm());
  await vi.waitFor(async () => expect(await alarm()).toBeGreaterThan(Date.now() + 3_000_000));
  await evictDurableObject(session.stub);
  await alarmed(session);
  expect(await texts(session)).toEqual(['A', 'One.']);
  await evictDurableObject(session.stub);
  const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_700_000);
  await alarmed(session);
  now.mockRestore();
  expect([await session.messages(), await session.list(), await alarm()]).toEqual([[], [], null]);
});
