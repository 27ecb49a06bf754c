import { runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { given } from '../../test-support/session-client.ts';
import { TurnQueue, type NewTurn } from './turn-queue.ts';

const turn = (model: string): NewTurn => ({
  turn: { kind: 'continue' },
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
      const queue = new TurnQueue({
        sql: { exec },
        transactionSync: storage.transactionSync.bind(storage),
      } as never);
      for (const model of ['a', 'b', 'c']) queue.add(turn(model));
      expect(queue.find(({ model }) => model === 'b')).toMatchObject({
        ...turn('b'),
        begun: false,
        attempts: 0,
      });
      expect(reads).toBe(2);
      expect(queue.find(() => false)).toBeUndefined();
      expect(reads).toBe(5);
    },
  );
});
