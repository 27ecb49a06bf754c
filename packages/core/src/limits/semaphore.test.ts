import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { randomOf } from '@test/random-of.ts';
import { Semaphore, type Release } from './semaphore.ts';

const turns = async (count = 5): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
};

test('a semaphore grants its slots first, and then serves waiting calls in order of arrival', async () => {
  const semaphore = new Semaphore(2);
  const order: string[] = [];
  const take = (name: string): Promise<Release> =>
    semaphore.acquire().then((release) => {
      order.push(name);
      return release;
    });
  const first = await take('a');
  await take('b');
  const third = take('c');
  void take('d');
  await turns();
  expect([order.join(''), semaphore.free, semaphore.waiting]).toEqual(['ab', 0, 2]);
  first();
  await turns();
  expect([order.join(''), semaphore.free, semaphore.waiting]).toEqual(['abc', 0, 1]);
  (await third)();
  await turns();
  expect([order.join(''), semaphore.waiting]).toEqual(['abcd', 0]);
});

test('if a place becomes free, a later call does not get it before a waiting call', async () => {
  const semaphore = new Semaphore(1);
  const release = await semaphore.acquire();
  const order: string[] = [];
  const waiting = semaphore.acquire().then(() => order.push('first'));
  release();
  expect(semaphore.free).toBe(0);
  void semaphore.acquire().then(() => order.push('second'));
  await waiting;
  await turns();
  expect(order).toEqual(['first']);
});

test('releasing a place twice frees it once', async () => {
  const semaphore = new Semaphore(2);
  const release = await semaphore.acquire();
  await semaphore.acquire();
  release();
  release();
  expect(semaphore.free).toBe(1);
});

test('aborting the signal ends the wait and occupies no place', async () => {
  const semaphore = new Semaphore(1);
  const release = await semaphore.acquire();
  const controller = new AbortController();
  const left = semaphore.acquire(controller.signal);
  const next = semaphore.acquire();
  controller.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  expect(semaphore.waiting).toBe(1);
  release();
  (await next)();
  expect(semaphore.free).toBe(1);
  await expect(semaphore.acquire(controller.signal)).rejects.toThrow('enough');
  expect(semaphore.free).toBe(1);
});

test('acquire() rejects if the queue is full', async () => {
  const semaphore = new Semaphore(1, { maxWaiting: 1 });
  const release = await semaphore.acquire();
  const waits = semaphore.acquire();
  await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true });
  release();
  (await waits)();
  expect(semaphore.free).toBe(1);
  const none = new Semaphore(1, { maxWaiting: 0 });
  await none.acquire();
  await expect(none.acquire()).rejects.toMatchObject({ code: 'OVERLOADED' });
});

test.each([[0], [-1], [Number.NaN], ['2'], [undefined], [1, { maxWaiting: -1 }]])(
  'the constructor rejects Semaphore(%o, %o)',
  (size, options?: object) => {
    expect(() => new Semaphore(size as number, options)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);

test.for(seeds({ quick: 20, full: 200 }))(
  'a semaphore is fair in any order of waiting, aborting and releasing: seed %i',
  async (seed) => {
    const random = randomOf(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const size = 1 + below(4);
    const maxWaiting = random() < 0.5 ? below(6) : Infinity;
    const semaphore = new Semaphore(size, { maxWaiting });
    const line: number[] = [];
    const held = new Map<number, Release>();
    const signals = new Map<number, AbortController>();
    const ended: Promise<unknown>[] = [];
    const refused: number[] = [];
    const granted: number[] = [];
    const expected: number[] = [];

    /** Computes the expected order of grants with a simple model of the queue. */
    let places = size;
    const handOut = (): void => {
      while (places && line.length) {
        places -= 1;
        expected.push(line.shift()!);
      }
    };

    for (let id = 0; id < 200; id += 1) {
      const what = random();
      if (what < 0.5) {
        const full = !places && line.length >= maxWaiting;
        if (!full) line.push(id);
        handOut();
        const controller = new AbortController();
        signals.set(id, controller);
        const asked = semaphore.acquire(controller.signal).then(
          (release) => {
            granted.push(id);
            held.set(id, release);
          },
          () => refused.push(id),
        );
        ended.push(asked);
        if (full) {
          await asked;
          expect(refused).toContain(id);
        }
      } else if (what < 0.8 && held.size) {
        const one = [...held.keys()][below(held.size)]!;
        held.get(one)!();
        held.delete(one);
        places += 1;
        handOut();
      } else if (line.length) {
        const [one] = line.splice(below(line.length), 1);
        signals.get(one!)!.abort();
      }
      if (random() < 0.7) await turns();
      expect(held.size).toBeLessThanOrEqual(size);
    }
    for (
      let round = 0;
      round < 500 && (held.size || line.length || granted.length < expected.length);
      round += 1
    ) {
      await turns();
      for (const [id, release] of held) {
        release();
        held.delete(id);
        places += 1;
      }
      handOut();
    }
    await Promise.all(ended);
    expect(granted).toEqual(expected);
    expect([semaphore.free, semaphore.waiting]).toEqual([size, 0]);
  },
);
