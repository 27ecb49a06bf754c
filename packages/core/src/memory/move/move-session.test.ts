import { expect, test } from 'vitest';
import * as z from 'zod';
import { AgentError } from '../../error/agent-error.ts';
import { userMessage, textOf } from '../../message/msg.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import { listSessions } from '../list-sessions.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SessionMemory } from '../session-memory.ts';
import { endpointPlace } from './endpoint-place.ts';
import { moveSession } from './move-session.ts';
import type { SessionPlace } from './session-place.ts';
import { storePlace } from './store-place.ts';

const placeOf = (name: string, store: KeyValueStore): SessionPlace => storePlace({ name, store });
const sleep = async (): Promise<void> => {};

async function talked(store: KeyValueStore, ...texts: readonly string[]): Promise<SessionMemory> {
  const memory = new SessionMemory(store, 's');
  await memory.claim();
  for (const text of texts) await memory.append([userMessage(text)]);
  return memory;
}

const textsIn = async (store: KeyValueStore): Promise<readonly string[]> =>
  (await new SessionMemory(store, 's').read()).map(textOf);

const movedTo = (place: string) => ({ code: 'SESSION_MOVED', details: { movedTo: place } });

test('a session moves with its title and state, and the old place refuses its writers and names the new one', async () => {
  const [a, b] = [new MemoryStore(), new MemoryStore()];
  const old = await talked(a, 'one', 'two');
  await old.rename('Trip');
  old.state['city'] = 'Oslo';
  await old.flush();
  await moveSession('s', { from: placeOf('a:', a), to: placeOf('b:', b) });
  const memory = new SessionMemory(b, 's');
  expect((await memory.read()).map(textOf)).toEqual(['one', 'two']);
  expect((await memory.view()).state).toMatchObject({ title: 'Trip' });
  expect(memory.state['city']).toBe('Oslo');
  await memory.append([userMessage('three')]);
  await expect(old.append([userMessage('late')])).rejects.toMatchObject(movedTo('b:'));
  await expect(textsIn(a)).rejects.toMatchObject(movedTo('b:'));
  await expect(new SessionMemory(a, 's').claim()).rejects.toMatchObject(movedTo('b:'));
  expect(await listSessions(a)).toMatchObject([{ sessionId: 's', movedTo: 'b:' }]);
  expect((await listSessions(b))[0]!.movedTo).toBeUndefined();
});

test('a session moves back over its old copy, with what both places added and removed', async () => {
  const [a, b] = [new MemoryStore(), new MemoryStore()];
  const [from, to] = [placeOf('a:', a), placeOf('b:', b)];
  await talked(a, 'one', 'two');
  await moveSession('s', { from, to });
  const memory = new SessionMemory(b, 's');
  const [, two] = await memory.read();
  await memory.delete([two!.id]);
  await memory.append([userMessage('three')]);
  await moveSession('s', { from: to, to: from });
  expect(await textsIn(a)).toEqual(['one', 'three']);
  await expect(memory.append([userMessage('late')])).rejects.toMatchObject(movedTo('a:'));
  await moveSession('s', { from, to });
  expect(await textsIn(b)).toEqual(['one', 'three']);
});

test('a move to the owner, and of an unknown session or one of a third place, is refused with a code or does nothing', async () => {
  const [a, b, c] = [1, 2, 3].map(() => new MemoryStore()) as [
    MemoryStore,
    MemoryStore,
    MemoryStore,
  ];
  const places = { from: placeOf('a:', a), to: placeOf('b:', b) };
  await expect(moveSession('s', places)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await talked(a, 'one');
  await moveSession('s', places);
  await moveSession('s', places);
  expect(await textsIn(b)).toEqual(['one']);
  await expect(moveSession('s', { from: places.from, to: placeOf('c:', c) })).rejects.toMatchObject(
    movedTo('b:'),
  );
});

test.each([
  () => storePlace({ name: 'b', store: new MemoryStore() }),
  () => endpointPlace('/api/chat'),
])('a place whose name would look like a writer is refused', (open) => {
  expect(open).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('a session is not given to an owner that is no place', async () => {
  const a = new MemoryStore();
  await talked(a, 'one');
  const place = placeOf('a:', a);
  const { ownership } = (await place.read('s'))!;
  const change = { owner: 'zzz', epoch: ownership!.epoch + 1, copyOf: ownership!.copyOf! };
  await expect(place.setOwner('s', change)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(await textsIn(a)).toEqual(['one']);
});

test('a backup does not replace the copy of a session that has moved away', async () => {
  const [a, b] = [new MemoryStore(), new MemoryStore()];
  const [from, to] = [placeOf('a:', a), placeOf('b:', b)];
  await talked(a, 'one');
  const { ownership: _ownership, ...backup } = (await from.read('s'))!;
  await moveSession('s', { from, to });
  await expect(from.put(backup)).rejects.toMatchObject(movedTo('b:'));
  await expect(textsIn(a)).rejects.toMatchObject(movedTo('b:'));
});

test('two places that both continued a session keep it, and the move is a conflict', async () => {
  const [a, b] = [new MemoryStore(), new MemoryStore()];
  const [from, to] = [placeOf('a:', a), placeOf('b:', b)];
  await talked(a, 'one');
  const backup = await entriesOf(a);
  await moveSession('s', { from, to });
  await new SessionMemory(b, 's').append([userMessage('in b')]);
  await a.setMany(backup);
  await (await talked(a, 'in a')).flush();
  const conflict = { code: 'SESSION_CONFLICT' };
  await expect(moveSession('s', { from, to })).rejects.toMatchObject(conflict);
  await expect(moveSession('s', { from: to, to: from })).rejects.toMatchObject(conflict);
  expect([await textsIn(a), await textsIn(b)]).toEqual([
    ['one', 'in a'],
    ['one', 'in b'],
  ]);
});

test('of two moves at once to different places, one wins, and the other one is refused', async () => {
  const [a, b, c] = [1, 2, 3].map(() => new MemoryStore()) as [
    MemoryStore,
    MemoryStore,
    MemoryStore,
  ];
  await talked(a, 'one');
  const ends = await Promise.allSettled(
    [placeOf('b:', b), placeOf('c:', c)].map((to) =>
      moveSession('s', { from: placeOf('a:', a), to }),
    ),
  );
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(await ownersAmong(a, b, c)).toHaveLength(1);
});

test('a copy that arrives late changes nothing, or makes the mover copy again', async () => {
  const [a, b] = [new MemoryStore(), new MemoryStore()];
  const [from, to] = [placeOf('a:', a), placeOf('b:', b)];
  await talked(a, 'one');
  const early = (await from.read('s'))!;
  await new SessionMemory(a, 's').append([userMessage('two')]);
  const takesLate: SessionPlace = {
    ...to,
    async setOwner(...args) {
      // Between steps 2 and 3, the first time only.
      if ((await b.get('arrived')) === undefined) await to.put(early);
      await b.set('arrived', '1');
      return to.setOwner(...args);
    },
  };
  await moveSession('s', { from, to: takesLate });
  expect(await textsIn(b)).toEqual(['one', 'two']);
  await expect(to.put(early)).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
});

test('a running session is refused, waited for, or stopped', async () => {
  const running = async (): Promise<{ a: MemoryStore; memory: SessionMemory }> => {
    const a = new MemoryStore();
    const memory = await talked(a, 'one');
    await memory.note([{ kind: 'run-begin', runId: 'r' }], { write: true });
    return { a, memory };
  };
  const end = (memory: SessionMemory): Promise<void> =>
    memory.flush({ runId: 'r', reason: 'stop', calls: new Map() });
  const to = (): SessionPlace => placeOf('b:', new MemoryStore());
  const first = await running();
  const from = placeOf('a:', first.a);
  await expect(moveSession('s', { from, to: to() })).rejects.toMatchObject({ code: 'AGENT_BUSY' });

  let looks = 0;
  const waits = async (): Promise<void> => {
    if (++looks === 3) await end(first.memory);
  };
  await moveSession('s', { from, to: to(), whenRunning: 'wait', sleep: waits });
  expect(looks).toBe(3);

  const second = await running();
  const stop = (): Promise<void> => end(second.memory);
  const stopped = storePlace({ name: 'a:', store: second.a, stop });
  await moveSession('s', { from: stopped, to: to(), whenRunning: 'stop', sleep });
  await expect(textsIn(second.a)).rejects.toMatchObject(movedTo('b:'));

  const cutOff = await running();
  await moveSession('s', { from: placeOf('a:', cutOff.a), to: to(), whenRunning: 'stop', sleep });
  await expect(end(cutOff.memory)).rejects.toMatchObject(movedTo('b:'));

  const left = await running();
  const signal = AbortSignal.abort(new AgentError('ABORTED', 'left'));
  await expect(
    moveSession('s', { from: placeOf('a:', left.a), to: to(), whenRunning: 'wait', signal, sleep }),
  ).rejects.toMatchObject({ code: 'ABORTED' });
});

test('a kill before and after each operation of a store leaves one owner, and no tool runs twice', async () => {
  let kills = 0;
  for (let at = 1; ; at += 1) {
    const isOver = await Promise.all([killed(at, 'before'), killed(at, 'after')]);
    if (isOver.every(Boolean)) break;
    kills += 1;
  }
  // Reads and writes of a copy, a gift and a take.
  expect(kills).toBeGreaterThan(12);
});

/** Kills a move at an operation. Resolves with true if the move had fewer operations. */
async function killed(at: number, when: 'before' | 'after'): Promise<boolean> {
  const [a, b] = [new MemoryStore(), new MemoryStore()];
  const runs: string[] = [];
  const agentIn = (store: KeyValueStore, replies: readonly string[]): ReActAgent => {
    const pay = tool({
      name: 'pay',
      description: '',
      input: z.object({}),
      needsApproval: true,
      execute: () => (runs.push('paid'), 'paid'),
    });
    const calls = { toolCalls: [{ id: 'c', name: 'pay', input: {} }] };
    return new ReActAgent({
      name: 'agent',
      model: new ScriptedModel([...(replies.length ? [] : [calls]), 'done']),
      tools: [pay],
      memory: new SessionMemory(store, 's'),
    });
  };
  const asked = await agentIn(a, []).call('Pay.');
  expect(asked.reason).toBe('suspended');

  const life = { left: at };
  const [from, to] = [dying(a, life, when), dying(b, life, when)].map((store, index) =>
    placeOf(index ? 'b:' : 'a:', store),
  ) as [SessionPlace, SessionPlace];
  const ended = await moveSession('s', { from, to }).then(
    () => true,
    () => false,
  );
  expect((await ownersAmong(a, b)).length, `${when} ${at}`).toBeLessThanOrEqual(1);

  // The next program asks the place that it knows, as a second tab does.
  await moveSession('s', { from: placeOf('a:', a), to: placeOf('b:', b) });
  expect(await ownersAmong(a, b)).toEqual([1]);
  const result = await agentIn(b, ['done']).call([{ toolUseId: 'c', type: 'approve' }]);
  expect(result).toMatchObject({ text: 'done', reason: 'stop' });
  await expect(
    agentIn(a, ['done']).call([{ toolUseId: 'c', type: 'approve' }]),
  ).rejects.toMatchObject(movedTo('b:'));
  expect(runs).toEqual(['paid']);
  return ended;
}

/** Returns the indexes of the stores in which a writer can write. */
async function ownersAmong(...stores: readonly KeyValueStore[]): Promise<readonly number[]> {
  const owners: number[] = [];
  for (const [index, store] of stores.entries()) {
    const copy = await placeOf(`${index}:`, store).read('s');
    if (copy?.ownership?.owner === `${index}:`) owners.push(index);
  }
  return owners;
}

/** Returns a store that answers nothing after a number of operations. */
function dying(
  store: MemoryStore,
  life: { left: number },
  when: 'before' | 'after',
): KeyValueStore {
  const guarded = async <T>(operation: () => Promise<T>): Promise<T> => {
    life.left -= 1;
    const isLast = life.left === 0;
    if (life.left < 0 || (isLast && when === 'before')) throw new Error('killed');
    const result = await operation();
    if (isLast) throw new Error('killed');
    return result;
  };
  return {
    features: store.features,
    get: (key) => guarded(() => store.get(key)),
    getMany: (keys) => guarded(() => store.getMany(keys)),
    set: (key, value) => guarded(() => store.set(key, value)),
    setMany: (entries) => guarded(() => store.setMany(entries)),
    delete: (keys) => guarded(() => store.delete(keys)),
    keys: (prefix) => guarded(() => store.keys(prefix)),
    compareAndSet: (...given) => guarded(() => store.compareAndSet(...given)),
  };
}

async function entriesOf(store: MemoryStore): Promise<readonly (readonly [string, string])[]> {
  return [...(await store.getMany(await store.keys('')))];
}
