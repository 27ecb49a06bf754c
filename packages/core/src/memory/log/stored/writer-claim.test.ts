import { expect, test } from 'vitest';
import { userMessage, textOf } from '../../../message/msg.ts';
import { listSessions } from '../../list-sessions.ts';
import { parseHead } from './stored-head.ts';
import { SessionMemory } from '../../session-memory.ts';
import { MemoryStore } from '../../store/memory-store.ts';

const conflict = { code: 'SESSION_CONFLICT', retryable: true };

test('after another owner has claimed the session, the old owner’s writes are rejected and not stored', async () => {
  const store = new MemoryStore();
  const [old, next] = [new SessionMemory(store, 's'), new SessionMemory(store, 's')];
  await old.claim();
  await old.append([userMessage('one')]);
  await next.claim();
  await expect(old.append([userMessage('two')])).rejects.toMatchObject(conflict);
  await expect(old.flush()).rejects.toMatchObject(conflict);
  await expect(old.clear()).rejects.toMatchObject(conflict);
  await next.append([userMessage('three')]);
  expect((await new SessionMemory(store, 's').read()).map(textOf)).toEqual(['one', 'three']);
});

test('an empty session can be claimed, and a claim makes one write', async () => {
  const store = new MemoryStore();
  const [old, next] = [new SessionMemory(store, 's'), new SessionMemory(store, 's')];
  await old.read();
  await next.claim();
  expect(next.sessionVersion).toBe(1);
  await next.flush();
  expect(next.sessionVersion).toBe(1);
  await old.claim();
  await expect(next.append([userMessage('late')])).rejects.toMatchObject(conflict);
  expect(await old.read()).toEqual([]);
});

test('a memory that never claimed the session can write beside the owner and does not become the owner', async () => {
  const store = new MemoryStore();
  const [owner, other] = [new SessionMemory(store, 's'), new SessionMemory(store, 's')];
  await owner.claim();
  await other.rename('Trip');
  await owner.append([userMessage('one')]);
  await other.append([userMessage('two')]);
  await owner.append([userMessage('three')]);
  expect((await owner.read()).map(textOf)).toEqual(['one', 'two', 'three']);
  expect(await listSessions(store)).toMatchObject([{ sessionId: 's', title: 'Trip' }]);
});

test('release() rejects later writes and keeps earlier writes, and the next claim discards the rejected writes', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's', { durability: 'turn' });
  await memory.claim();
  const writing = memory.append([userMessage('one')]).then(() => memory.flush());
  await writing;
  const released = memory.release();
  const refused = memory.append([userMessage('two')]);
  await released;
  await expect(refused).rejects.toMatchObject(conflict);
  await memory.claim();
  await memory.append([userMessage('three')]);
  await memory.flush();
  expect((await new SessionMemory(store, 's').read()).map(textOf)).toEqual(['one', 'three']);
});

test('a claim with `write: false` takes effect at the first write, and is lost if another claim comes first', async () => {
  const store = new MemoryStore();
  const open = (): SessionMemory => new SessionMemory(store, 's');
  const [first, second, third, fourth] = [open(), open(), open(), open()];
  await first.claim({ write: false });
  expect(first.sessionVersion).toBe(0);
  await first.append([userMessage('one')]);
  await second.claim({ write: false });
  await first.append([userMessage('two')]);
  await second.append([userMessage('three')]);
  await expect(first.append([userMessage('four')])).rejects.toMatchObject(conflict);
  await third.claim({ write: false });
  await fourth.claim();
  await expect(third.append([userMessage('five')])).rejects.toMatchObject(conflict);
  expect((await fourth.read()).map(textOf)).toEqual(['one', 'two', 'three']);
});

test('each claim writes the next epoch, and a late claim of a lower epoch is refused', async () => {
  const store = new MemoryStore();
  const epoch = async (): Promise<number | undefined> =>
    parseHead((await store.get('s:s:head'))!, 's:s:head').ownership?.epoch;
  const [first, second, late] = [1, 2, 3].map(() => new SessionMemory(store, 's'));
  await first!.claim();
  expect(await epoch()).toBe(1);
  await late!.claim({ write: false });
  await second!.claim();
  await second!.append([userMessage('one')]);
  expect(await epoch()).toBe(2);
  await expect(late!.append([userMessage('two')])).rejects.toMatchObject(conflict);
  await late!.claim();
  expect(await epoch()).toBe(3);
});
