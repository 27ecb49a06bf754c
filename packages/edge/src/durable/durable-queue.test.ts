import type { NewTurn } from '../queue/turn-queue.ts';
import { runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { given } from '../../test-support/session-client.ts';
import { DurableQueue } from './durable-queue.ts';

const turn = (model: string): NewTurn => ({
  request: { kind: 'continue' },
  model,
  messageId: `m-${model}`,
  requestId: 'r',
});

test('TurnQueue reads waiting turns one by one, in their order', async () => {
  const objects = given.TEST_SESSIONS;
  await runInDurableObject(
    objects.get(objects.idFromName(crypto.randomUUID())),
    (_object, { storage }) => {
      let reads = 0;
      const exec = (query: string, ...values: unknown[]): unknown => {
        if (query.startsWith('SELECT bytes')) reads += 1;
        return storage.sql.exec(query, ...values);
      };
      const queue = new DurableQueue({
        sql: { exec },
        kv: storage.kv,
        transactionSync: storage.transactionSync.bind(storage),
      } as never);
      for (const model of ['a', 'b', 'c']) queue.add(turn(model));
      expect(queue.find(({ model }) => model === 'b')).toMatchObject({
        ...turn('b'),
        hasBegun: false,
        attempts: 0,
      });
      // The first turn is in memory.
      expect(reads).toBe(1);
      expect(queue.find(() => false)).toBeUndefined();
      expect(reads).toBe(3);
    },
  );
});

test('a turn that waits for no other turn is never read from the database', async () => {
  const objects = given.TEST_SESSIONS;
  await runInDurableObject(
    objects.get(objects.idFromName(crypto.randomUUID())),
    (_object, { storage }) => {
      const statements: string[] = [];
      const exec = (query: string, ...values: unknown[]): unknown => {
        statements.push(query.split(' ')[0]!);
        return storage.sql.exec(query, ...values);
      };
      const queue = new DurableQueue({
        sql: { exec },
        kv: storage.kv,
        transactionSync: storage.transactionSync.bind(storage),
      } as never);
      statements.length = 0;
      for (const changedAt of [5, 4]) {
        expect(queue.find(() => true)).toBeUndefined();
        const { id } = queue.add(turn('a'));
        queue.begin(id);
        queue.attempt(id);
        expect(queue.first()).toMatchObject({ ...turn('a'), hasBegun: true, attempts: 1 });
        queue.end(id, changedAt);
        expect([queue.first(), queue.size, queue.changedAt]).toEqual([undefined, 0, 5]);
      }
      expect(statements).not.toContain('SELECT');
      // The database has the same.
      const again = new DurableQueue(storage);
      expect([again.first(), again.size, again.changedAt]).toEqual([undefined, 0, 5]);
    },
  );
});
