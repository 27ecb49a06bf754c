import { expect, test } from 'vitest';
import { historyFaults } from '@test/support/history-faults.ts';
import { weakStore } from '@test/support/weak-store.ts';
import type { AgentError } from '../../error/agent-error.ts';
import { assistantMessage, toolMessage, type Msg } from '../../message/msg.ts';
import { idsOf, message } from '@test/support/messages.ts';
import { SessionFold } from '../log/session-fold.ts';
import { formatVersion } from '../log/stored/stored-batch.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { listSessions } from '../list-sessions.ts';
import { repairSession } from '../repair-session.ts';
import { SessionMemory } from '../session-memory.ts';

const headKey = 's:s:head';

async function storeWith(...ids: readonly string[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  for (const id of ids) await memory.append([message(id)]);
  return store;
}

async function keyOf(store: MemoryStore, version: number): Promise<string> {
  const [key = ''] = await store.keys(`s:s:r:${String(version).padStart(8, '0')}-`);
  return key;
}

test('an incomplete head is rebuilt if the list of keys is current, and `onDamage` is called', async () => {
  const store = await storeWith('1', '2', '3');
  const head = await store.get(headKey);
  for (const torn of [
    '',
    'null',
    head!.slice(0, 100),
    head!.replace('"refs":[[', '"refs":[[],['),
  ]) {
    await store.set(headKey, torn);
    const errors: AgentError[] = [];
    const memory = new SessionMemory(store, 's', { onDamage: (error) => void errors.push(error) });
    expect(idsOf(await memory.read())).toEqual(['1', '2', '3']);
    expect(errors.map(({ details }) => details)).toEqual([{ key: headKey }]);
    expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(['1', '2', '3']);
    expect(await store.get(headKey)).toBe(torn);
    await expect(new SessionMemory(weakStore(store), 's').read()).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringMatching(/s:s:head .*repairSession\(\)/),
    });
  }
  await new SessionMemory(store, 's').append([message('4')]);
  expect(idsOf(await new SessionMemory(weakStore(store), 's').read())).toEqual([
    '1',
    '2',
    '3',
    '4',
  ]);
});

const lostWithHead: readonly (readonly number[])[] = [[1], [2], [1, 2], [2, 4], [2, 3, 4], [4]];

test.for(lostWithHead)(
  'with an incomplete head, each gap of the missing records %j is still reported',
  async (numbers) => {
    const store = await storeWith('1', '2', '3', '4', '5');
    const lost = await Promise.all(numbers.map((number) => keyOf(store, number)));
    const rest = ['1', '2', '3', '4', '5'].filter((id) => !numbers.includes(Number(id)));
    // The record after a gap contains the key of the last record in the gap.
    const ends = lost.filter((_key, at) => !numbers.includes(numbers[at]! + 1));
    const expected = [headKey, ...ends].toSorted();
    await store.delete(lost);
    await store.set(headKey, '{');

    await expect(new SessionMemory(store, 's').read()).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining(ends[0]!),
    });
    const told: AgentError[] = [];
    const memory = new SessionMemory(store, 's', { onDamage: (error) => void told.push(error) });
    expect(idsOf(await memory.read())).toEqual(rest);
    expect(keysIn(told)).toEqual(expected);
    await expect(memory.records()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(keysIn(await repairSession(store, 's'))).toEqual(expected);
    expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(rest);
  },
);

function keysIn(errors: readonly AgentError[]): readonly unknown[] {
  return errors.map(({ details }) => details?.['key']).toSorted();
}

test('after a write to a session with an incomplete head, a missing record is still reported, and a tool call without a result is closed', async () => {
  const store = new MemoryStore();
  const writer = new SessionMemory(store, 's');
  for (const messages of [[message('q')], [asks('a')], [result('a')], [message('q2')]])
    await writer.append(messages);
  const key = await keyOf(store, 3);
  await store.delete([key]);
  await store.set(headKey, '{');
  const open = (): SessionMemory => new SessionMemory(store, 's', { onDamage: () => {} });
  const memory = open();
  expect(idsOf(await memory.read())).toEqual(['q', 'asks a', 'lost a', 'q2']);
  await memory.append([message('q3')]);
  await expect(new SessionMemory(store, 's').read()).rejects.toMatchObject({ details: { key } });
  expect(idsOf(await open().read())).toEqual(['q', 'asks a', 'lost a', 'q2', 'q3']);
});

test('the incomplete head of a compacted session is rebuilt, starting with the snapshot', async () => {
  for (const isWeak of [false, true]) {
    const store = await storeWith('1', '2', '3');
    const stored = isWeak ? weakStore(store) : store;
    await new SessionMemory(stored, 's', { compactAfter: 2 }).append([message('4')]);
    await new SessionMemory(stored, 's').append([message('5')]);
    await store.set(headKey, '{');
    const errors = await repairSession(stored, 's');
    expect(errors).toMatchObject([{ details: { key: headKey } }]);
    const all = ['1', '2', '3', '4', '5'];
    expect(idsOf(await new SessionMemory(stored, 's').read())).toEqual(all);

    const snapshot = await keyOf(store, 6);
    await store.set(snapshot, '{}');
    await store.set(headKey, '{');
    const more = await repairSession(stored, 's');
    expect(keysIn(more)).toEqual([headKey, snapshot]);
  }
});

test('a rebuilt head names no batch that lost a race, and keeps the owner', async () => {
  const store = new MemoryStore();
  const owner = new SessionMemory(store, 's');
  await owner.claim();
  for (const id of ['1', '2', '3']) await owner.append([message(id)]);
  const second = await keyOf(store, 3);
  const other = new MemoryStore();
  const loser = new SessionMemory(other, 's');
  for (const id of ['x', 'y', 'z']) await loser.append([message(id)]);
  const lost = await keyOf(other, 3);
  await store.set(lost, (await other.get(lost))!);
  expect(lost).not.toBe(second);
  await store.set(headKey, '{');
  expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(['1', '2', '3']);

  const next = new SessionMemory(store, 's');
  await next.claim();
  await store.set(headKey, '{');
  await expect(owner.append([message('late')])).rejects.toMatchObject({
    code: 'SESSION_CONFLICT',
  });
});

test('an incomplete head is not rebuilt if two writers may have written the last batch', async () => {
  const store = await storeWith('1', '2');
  const other = await storeWith('1', 'x');
  const key = await keyOf(other, 2);
  await store.set(key, (await other.get(key))!);
  await store.set(headKey, '{');
  await expect(new SessionMemory(store, 's').read()).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    details: { key: headKey },
  });
  await repairSession(store, 's');
  expect(idsOf(await new SessionMemory(store, 's').read()).toSorted()).toEqual(['1', '2', 'x']);
});

test('a session without a head reads as empty, and repairSession() finds its records', async () => {
  for (const isWeak of [false, true]) {
    const store = await storeWith('1', '2', '3');
    const stored = isWeak ? weakStore(store) : store;
    const open = (): SessionMemory => new SessionMemory(stored, 's');
    await store.delete([headKey]);
    expect(await open().read()).toEqual([]);
    const errors = await repairSession(stored, 's');
    expect(errors).toMatchObject([{ code: 'STORAGE_FAILED', details: { key: headKey } }]);
    expect(idsOf(await open().read())).toEqual(['1', '2', '3']);
    expect(await repairSession(stored, 's')).toEqual([]);
  }
});

test('repairSession() of a complete or empty session writes nothing', async () => {
  const store = await storeWith('1', '2');
  const before = await store.getMany(await store.keys(''));
  expect(await repairSession(store, 's')).toEqual([]);
  expect(await repairSession(store, 'none')).toEqual([]);
  expect(await store.getMany(await store.keys(''))).toEqual(before);
});

test('repairSession() keeps the readable records and the damaged value, and rejects a newer format', async () => {
  for (const isWeak of [false, true]) {
    const store = await storeWith('1', '2', '3');
    const stored = isWeak ? weakStore(store) : store;
    const open = (): SessionMemory => new SessionMemory(stored, 's');
    const key = await keyOf(store, 2);
    const damagedText = (await store.get(key))!.replace('text of 2', 'text of 9');
    await store.set(key, damagedText);
    await expect(open().read()).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining(key),
      details: { key },
    });
    expect(await repairSession(stored, 's')).toMatchObject([{ details: { key } }]);
    const memory = open();
    expect(idsOf(await memory.read())).toEqual(['1', '3']);
    await memory.append([message('4')]);
    expect(idsOf(await open().read())).toEqual(['1', '3', '4']);
    expect(await store.get(key)).toBe(damagedText);
    const format = formatVersion + 1;
    const laterHead = `{"v":${format}}`;
    await store.set(headKey, laterHead);
    await expect(repairSession(stored, 's')).rejects.toMatchObject({ details: { format } });
    expect(await store.get(headKey)).toBe(laterHead);
    await open().clear();
    expect(await store.keys('')).toEqual([]);
  }
});

test('records() of a session with lost records is rejected', async () => {
  const store = await storeWith('1', '2');
  await store.set(await keyOf(store, 1), '{}');
  const memory = new SessionMemory(store, 's', { onDamage: () => {} });
  expect(idsOf(await memory.read())).toEqual(['2']);
  await expect(memory.records()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});

test('each tool call is closed or still open, whichever record is lost, and none runs again', async () => {
  const steps: readonly (readonly Msg[])[] = [
    [message('q')],
    [asks('a', 'b')],
    [result('a')],
    [result('b')],
    [assistantMessage('done', { id: 'done' }), message('q2')],
    [asks('c')],
  ];
  for (let lost = 1; lost <= steps.length; lost++) {
    const store = new MemoryStore();
    const writer = new SessionMemory(store, 's');
    for (const messages of steps) await writer.append(messages);
    await store.set(await keyOf(store, lost), '{}');
    const open = (): SessionMemory => new SessionMemory(store, 's', { onDamage: () => {} });
    const view = await open().view();
    const isLast = lost === steps.length;
    expect([...view.calls.keys()]).toEqual(isLast ? [] : ['c']);
    expect(historyFaults(view.messages, [...view.calls.keys()])).toEqual([]);
    expect(await open().read()).toEqual(view.messages);
    await open().append([message('next')]);
    expect(historyFaults(await open().read(), isLast ? [] : ['c'])).toEqual([]);
    await repairSession(store, 's');
    expect(historyFaults(await new SessionMemory(store, 's').read(), isLast ? [] : ['c'])).toEqual(
      [],
    );
  }
});

test('a tool call whose result may be lost is closed as interrupted, and a pending tool call stays open', async () => {
  const store = new MemoryStore();
  const writer = new SessionMemory(store, 's');
  await writer.append([message('q'), asks('a', 'p')]);
  await writer.append([result('a')]);
  await writer.note([
    {
      kind: 'suspended',
      calls: [{ pending: { toolUseId: 'p', name: 'pay', input: {}, kind: 'approval' } }],
    },
  ]);
  await writer.flush();
  await store.set(await keyOf(store, 2), '[]');
  const { messages, calls } = await new SessionMemory(store, 's', { onDamage: () => {} }).view();
  expect(calls.get('p')?.pending).toMatchObject({ kind: 'approval' });
  expect([...calls.keys()]).toEqual(['p']);
  expect(messages.at(-1)?.content).toMatchObject([{ toolUseId: 'a', state: 'interrupted' }]);
});

test('with an earlier head in the store, read() returns the session at that time', async () => {
  const heads: string[] = [];
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  for (let n = 1; n <= 40; n++) {
    await memory.append([message(String(n))]);
    heads.push((await store.get(headKey))!);
  }
  for (const [index, head] of heads.entries()) {
    await store.set(headKey, head);
    expect(idsOf(await new SessionMemory(store, 's').read())).toEqual(
      Array.from({ length: index + 1 }, (_, n) => String(n + 1)),
    );
  }
});

test('listSessions() lists a session with an incomplete head', async () => {
  const store = await storeWith('1');
  await store.set(headKey, (await store.get(headKey))!.replace('"version":1', '"version":7'));
  expect(await listSessions(store)).toMatchObject([{ sessionId: 's', version: -1 }]);
});

function asks(...ids: readonly string[]): Msg {
  return assistantMessage(
    ids.map((id) => ({ type: 'tool_use', id, name: 'pay', input: {} }) as const),
    { id: `asks ${ids.join()}` },
  );
}

function result(toolUseId: string): Msg {
  return toolMessage(
    { type: 'tool_result', toolUseId, name: 'pay', output: 'ok', state: 'success' },
    { id: `result ${toolUseId}` },
  );
}

test('SessionFold closes all tool calls that may have lost results, after several lost records', () => {
  const lost = [{ kind: 'lost' }] as const;
  const of = (each: Msg) => [{ kind: 'message', message: each }] as const;
  const fold = new SessionFold().load([
    of(asks('a')),
    lost,
    of(message('q')),
    of(asks('b')),
    lost,
    of(message('end')),
  ]);
  expect(idsOf(fold.messages)).toEqual(['asks a', 'lost a', 'q', 'asks b', 'lost b', 'end']);
});

const damages: readonly (readonly [
  name: string,
  damage: (store: MemoryStore, key: string) => Promise<void>,
])[] = [
  ['not JSON', (store, key) => store.set(key, '{')],
  ['of a newer version', async (store, key) => store.set(key, '{"v":9,"all":"new"}')],
  ['missing', (store, key) => store.delete([key])],
  [
    'not a message',
    async (store, key) =>
      store.set(key, String(await store.get(key)).replace('"role":"user"', '"role":"root"')),
  ],
];

test.for(damages)(
  'if a record is %s, the other records are read, and nothing is overwritten',
  async ([, damage]) => {
    for (const at of [1, 20, 33, 45, 66, 70]) {
      const store = new MemoryStore();
      const writer = new SessionMemory(store, 's');
      for (let n = 1; n <= 70; n++) await writer.append([message(`${n}`)]);
      const [key = ''] = (await store.keys('s:s:r:')).filter((each) =>
        each.includes(`:${String(at).padStart(8, '0')}-`),
      );
      // A crashed writer left this batch, and no later batch refers to it.
      await store.set(
        's:s:r:00000020-orphan',
        String(await store.get(key)).replaceAll(`"${at}"`, '"orphan"'),
      );
      await damage(store, key);
      const before = await store.get(key);

      const errors: AgentError[] = [];
      const open = (): SessionMemory =>
        new SessionMemory(store, 's', {
          compactAfter: 1,
          onDamage: (error) => void errors.push(error),
        });
      const expected = Array.from({ length: 70 }, (_, n) => `${n + 1}`).filter(
        (id) => id !== `${at}`,
      );
      expect(idsOf(await open().read())).toEqual(expected);
      expect(errors).toHaveLength(1);
      await open().append([message('next')]);
      expect(idsOf(await open().read())).toEqual([...expected, 'next']);
      expect(await store.get(key)).toBe(before);
    }
  },
);
