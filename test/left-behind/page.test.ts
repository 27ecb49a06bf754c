import { expect, onTestFinished, test } from 'vitest';
import { sentencesLeftBy } from './check.ts';
import { pageEngine } from './engines.ts';
import { mayLeave } from './may-leave.ts';

const leftBy = async (action: () => unknown): Promise<readonly string[]> => {
  const sentences = await sentencesLeftBy(pageEngine, action);
  return sentences.map((sentence) => sentence.replace(/:\d+:\d+\.$/, '.'));
};

const blobUrl = (): string => {
  const url = URL.createObjectURL(new Blob(['']));
  onTestFinished(() => URL.revokeObjectURL(url));
  return url;
};

const openDatabase = async (): Promise<IDBDatabase> => {
  const name = crypto.randomUUID();
  const request = indexedDB.open(name);
  await new Promise((resolve) => request.addEventListener('success', resolve));
  onTestFinished(() => void indexedDB.deleteDatabase(name));
  return request.result;
};

test('the check names a worker, a port of a shared worker, a lock and a connection of a page', async () => {
  const place = 'created at test/left-behind/page.test.ts.';
  const url = blobUrl();
  const path = new URL(url).pathname;
  const worker = await leftBy(() => {
    const left = new Worker(url);
    onTestFinished(() => left.terminate());
  });
  expect(worker).toEqual([`The test left a worker (${path}) ${place}`]);

  const port = await leftBy(() => {
    const left = new SharedWorker(url);
    onTestFinished(() => left.port.close());
  });
  expect(port).toEqual([`The test left a port of a shared worker (${path}) ${place}`]);

  const name = crypto.randomUUID();
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  onTestFinished(() => resolve());
  const locks = await leftBy(async () => {
    await new Promise<void>((taken) => {
      void navigator.locks.request(name, () => {
        taken();
        return promise;
      });
    });
    void navigator.locks.request(name, () => {});
  });
  expect(locks).toEqual([
    `The test left a lock (${name}, held) ${place}`,
    `The test left a lock (${name}, requested) ${place}`,
  ]);

  const databases = await leftBy(async () => {
    const db = await openDatabase();
    onTestFinished(() => db.close());
  });
  expect(databases).toEqual([
    expect.stringMatching(/^The test left a connection to the database .* created at test/),
  ]);
});

test('the check accepts a page that ends everything, and what a test may leave', async () => {
  const sentences = await leftBy(async () => {
    const worker = new Worker(blobUrl());
    worker.terminate();
    new SharedWorker(blobUrl()).port.close();
    await navigator.locks.request(crypto.randomUUID(), () => {});
    const db = await openDatabase();
    db.close();
    clearTimeout(setTimeout(() => {}, 300_000));
    mayLeave('timer', 'the test shows that this is allowed');
    const allowed = setTimeout(() => {}, 300_000);
    onTestFinished(() => clearTimeout(allowed));
  });
  expect(sentences).toEqual([]);
});
