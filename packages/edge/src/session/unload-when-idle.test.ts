import { runInDurableObject } from 'cloudflare:test';
import { SessionMemory, type Msg } from '@isoloop/core';
import { expect, test } from 'vitest';
import { rowCounters } from '../../test-support/agent-session.ts';
import { RowCounter } from '../../test-support/row-counter.ts';
import { ask, given, open } from '../../test-support/session-client.ts';
import { DurableStore } from '../durable/durable-store.ts';
import { maxIdleMessages, unloadAfterMs } from './unload-when-idle.ts';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';
import { killObject } from '../../test-support/kill-objects.ts';

const message = (index: number): Msg => ({
  id: `old-${index}`,
  role: index % 2 ? 'assistant' : 'user',
  content: [{ type: 'text', text: `${index}` }],
  createdAt: '2026-01-01T00:00:00.000Z',
});

test('a long session that is used again soon does not read its log again', async () => {
  const clock = fakeClock();
  const { session, counter } = await openLong(maxIdleMessages + 2, clock);
  await session.messages();
  for (let request = 0; request < 3; request++) {
    await clock.advance(unloadAfterMs - 1);
    counter.takeRead();
    expect((await session.messages()).length).toBe(maxIdleMessages + 2);
    expect(counter.takeRead()).toBe(0);
  }
  await clock.advance(unloadAfterMs);
});

test.each([
  [maxIdleMessages, 'all', 0],
  // The head, and three batches, for which SQLite reads the key in the statement and the row.
  [maxIdleMessages + 2, 'no', 1 + 2 * 3],
])('a session at rest with %i messages keeps %s records in memory', async (count, _kept, read) => {
  const clock = fakeClock();
  const { session, counter } = await openLong(count, clock);
  for (let request = 0; request < 2; request++) {
    await session.messages();
    await clock.advance(unloadAfterMs);
    counter.takeRead();
    expect((await session.messages()).length).toBe(count);
    expect(counter.takeRead()).toBe(read);
  }
  await session.chat([ask('C')]);
  expect((await session.messages()).length).toBe(count + 2);
  await clock.advance(unloadAfterMs);
});

/** Opens a session that has `count` messages after its second turn, and counts its rows. */
async function openLong(count: number, clock: FakeClock) {
  const session = open(['One.', 'Two.', 'Three.']);
  await session.chat([ask('A')]);
  await killObject(session.stub);
  await runInDurableObject(session.stub, async (_, { storage }) => {
    const memory = new SessionMemory(new DurableStore(storage), session.id);
    await memory.append(Array.from({ length: count - 4 }, (_each, index) => message(index)));
  });
  await killObject(session.stub);
  const counter = new RowCounter();
  const id = given.TEST_SESSIONS.idFromName(`${session.user}/${session.id}`);
  rowCounters.set(String(id), counter);
  await session.chat([ask('B')]);
  // A session at rest without an expiry has no alarm.
  const alarm = (): Promise<number | null> =>
    runInDurableObject(session.stub, (_, { storage }) => storage.getAlarm());
  await clock.waitFor(async () => expect(await alarm()).toBeNull());
  return { session, counter };
}
