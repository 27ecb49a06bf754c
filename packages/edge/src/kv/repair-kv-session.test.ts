import { MemoryStore } from '@isoloop/core';
import { repairSession } from '@isoloop/core/memory';
import { expect, test } from 'vitest';
import { secret, storedTurns } from '@test/support/damage/conversations.ts';
import { idsOf } from '@test/support/messages.ts';
import { weakStore } from '@test/support/weak-store.ts';
import { EchoMemory } from './log/echo-memory.ts';
import { repairKvSession } from './repair-kv-session.ts';

test('repairKvSession() without a head finds the last turn', async () => {
  const { values, echoes } = await storedTurns('turns', 'bread');
  const secrets = [secret];
  for (const head of [undefined, '{']) {
    const store = new MemoryStore();
    await store.setMany([...values]);
    const open = (echo?: string): EchoMemory =>
      new EchoMemory(weakStore(store), 'turns', {
        secrets,
        withoutEcho: 'latest',
        waitMs: 0,
        now: () => 1_100_000,
        ...(echo !== undefined && { echo }),
      });
    const whole = await open().read();
    if (head === undefined) await store.delete(['s:turns:head']);
    else await store.set('s:turns:head', head);
    const stored = weakStore(store);
    expect(await repairKvSession(stored, 'turns')).toMatchObject([
      { details: { key: 's:turns:head' } },
    ]);
    for (const echo of [undefined, ...echoes.map(([, each]) => each)])
      expect(await open(echo).read()).toEqual(whole);
    expect(await repairKvSession(stored, 'turns')).toEqual([]);
  }
});

test('repairKvSession() omits a damaged turn', async () => {
  const { values, echoes } = await storedTurns('turns', 'bread', 3);
  const store = new MemoryStore();
  await store.setMany([...values]);
  const open = (echo?: string): EchoMemory =>
    new EchoMemory(weakStore(store), 'turns', {
      secrets: [secret],
      withoutEcho: 'latest',
      waitMs: 0,
      now: () => 1_100_000,
      ...(echo !== undefined && { echo }),
    });
  const whole = idsOf(await open().read());
  const key = [...values.keys()].find((each) => values.get(each)!.includes('"q0"'))!;
  await store.set(key, values.get(key)!.replace('question 0', 'question 7'));
  await expect(open().read()).rejects.toMatchObject({ details: { key } });
  expect(await repairKvSession(weakStore(store), 'turns')).toMatchObject([{ details: { key } }]);
  const rest = whole.filter((id) => id !== 'q0' && id !== 'a0');
  for (const echo of [undefined, ...echoes.map(([, each]) => each)])
    expect(idsOf(await open(echo).read())).toEqual(rest);
});

test('repairSession() of core names the function for a session of KvMemory', async () => {
  const { values } = await storedTurns('turns', 'bread');
  const store = new MemoryStore();
  await store.setMany([...values]);
  await expect(repairSession(store, 'turns')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('use repairKvSession() of @isoloop/edge/kv'),
  });
});
