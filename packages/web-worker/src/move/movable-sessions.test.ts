import { assistantMessage, MemoryStore, SessionMemory, textOf, userMessage } from '@isoloop/core';
import { storePlace, type SessionPlace } from '@isoloop/core/move';
import { expect, test } from 'vitest';
import { killedMoves } from '@test/killed-moves.ts';
import { IndexedDbMemory } from '../store/indexed-db-memory.ts';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
import { browserPlace } from './browser-place.ts';
import { movableSessions } from './movable-sessions.ts';
import { testDatabase } from '../../test-support/database.ts';

const name = 'https://edge.test/api/chat';
const edgePlace = (store = new MemoryStore()): SessionPlace => storePlace({ name, store });

async function stored(store: IndexedDbStore): Promise<string> {
  const sessionId = crypto.randomUUID();
  const memory = new IndexedDbMemory(sessionId, { store });
  await memory.claim();
  await memory.append([userMessage('Hi'), assistantMessage('Hello')]);
  return sessionId;
}

const database = (): IndexedDbStore => new IndexedDbStore({ database: testDatabase() });

test('a conversation moves from IndexedDB to an endpoint and back, and the tabs of the browser are told', async () => {
  const [store, edge] = [database(), new MemoryStore()];
  const sessionId = await stored(store);
  const places = { tab: () => browserPlace({ store }), edge: edgePlace(edge) };
  const sessions = movableSessions(places);
  const told: string[] = [];
  const stop = movableSessions(places).watch(sessionId, (place) => told.push(place));
  expect(await sessions.whereIs(sessionId)).toBe('tab');
  await sessions.moveTo(sessionId, 'edge');
  expect(await sessions.whereIs(sessionId)).toBe('edge');
  await expect.poll(() => told).toEqual(['edge']);
  await expect(new IndexedDbMemory(sessionId, { store }).read()).rejects.toMatchObject({
    code: 'SESSION_MOVED',
    details: { movedTo: name },
  });
  await new SessionMemory(edge, sessionId).append([userMessage('More')]);
  await sessions.moveTo(sessionId, 'tab');
  await expect.poll(() => told).toEqual(['edge', 'tab']);
  stop();
  const texts = (await new IndexedDbMemory(sessionId, { store }).read()).map(textOf);
  expect(texts).toEqual(['Hi', 'Hello', 'More']);
  await expect(sessions.moveTo('unknown', 'edge')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a conversation is found in its place while the endpoint is down, and nowhere else', async () => {
  const store = database();
  const sessionId = await stored(store);
  const edge = edgePlace();
  const tab = await browserPlace({ store });
  const down = { ...edge, read: () => Promise.reject(new Error('down')) };
  const sessions = movableSessions({ tab, edge: down });
  expect(await sessions.whereIs(sessionId)).toBe('tab');
  await sessions.moveTo(sessionId, 'tab');
  await expect(sessions.whereIs('unknown')).rejects.toThrow('down');
  await movableSessions({ tab, edge }).moveTo(sessionId, 'edge');
  await expect(sessions.whereIs(sessionId)).rejects.toThrow('down');
});

test('all tabs of a browser use one name for its database', async () => {
  const store = database();
  const [one, other] = await Promise.all([browserPlace({ store }), browserPlace({ store })]);
  expect(one.name).toMatch(/^browser:/);
  expect(other.name).toBe(one.name);
  expect((await browserPlace({ store: database() })).name).not.toBe(one.name);
});

test('a move that broke off is completed before the next one', async () => {
  const [store, edge] = [database(), new MemoryStore()];
  const sessionId = await stored(store);
  const place = edgePlace(edge);
  const cut: SessionPlace = { ...place, setOwner: () => Promise.reject(new Error('killed')) };
  const tab = await browserPlace({ store });
  await expect(movableSessions({ tab, edge: cut }).moveTo(sessionId, 'edge')).rejects.toThrow();
  const sessions = movableSessions({ tab, edge: place });
  expect((await place.read(sessionId))?.ownership).toMatchObject({ owner: tab.name });
  expect(await sessions.whereIs(sessionId)).toBe('edge');
  // The endpoint has taken the conversation, so that it accepts messages.
  expect((await place.read(sessionId))?.ownership).toMatchObject({ owner: name });
  await sessions.moveTo(sessionId, 'tab');
  expect(await sessions.whereIs(sessionId)).toBe('tab');
  expect(await new IndexedDbMemory(sessionId, { store }).read()).toHaveLength(2);
});

test('a cut-off run does not keep a conversation in the browser, but a run in an open session does', async () => {
  const store = database();
  const sessionId = await stored(store);
  const memory = new IndexedDbMemory(sessionId, { store });
  await memory.note([{ kind: 'run-begin', runId: 'r' }], { write: true });
  const sessions = movableSessions({ tab: () => browserPlace({ store }), edge: edgePlace() });
  const lock = `isoloop:session:${JSON.stringify([undefined, sessionId])}`;
  await navigator.locks.request(lock, async () => {
    const refused = sessions.moveTo(sessionId, 'edge');
    await expect(refused).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  });
  await sessions.moveTo(sessionId, 'edge');
  expect(await sessions.whereIs(sessionId)).toBe('edge');
});

test('a kill at each step leaves one owner in IndexedDB and at the endpoint, in both directions', async () => {
  const store = database();
  const tab = await browserPlace({ store });
  const open = async () => ({ sessionId: await stored(store), from: tab, to: edgePlace() });
  const kills = await killedMoves(open, async ({ sessionId, to }) => {
    expect((await to.read(sessionId))?.records.slice(0, 2)).toMatchObject([
      { message: { role: 'user' } },
      { message: { role: 'assistant' } },
    ]);
    await expect(new IndexedDbMemory(sessionId, { store }).read()).rejects.toMatchObject({
      code: 'SESSION_MOVED',
    });
  });
  // Before and after: read, copy, give, take.
  expect(kills).toEqual(['from', 'from', 'from', 'from', 'from', 'given', 'given', 'to', 'to']);
  const back = await killedMoves(
    async () => {
      const { sessionId, from, to } = await open();
      await movableSessions({ tab: from, edge: to }).moveTo(sessionId, 'edge');
      return { sessionId, from: to, to: from };
    },
    async ({ sessionId }) =>
      expect(await new IndexedDbMemory(sessionId, { store }).read()).toHaveLength(2),
  );
  expect(back).toEqual(kills);
});
