import { expect, test } from 'vitest';
import { RunReaders } from './run-readers.ts';
import type { RunReader } from './run-reading.ts';

/** Creates a reader that can take a batch only after `free` was called. */
function busyReader(): { readonly reader: RunReader; readonly free: () => void } {
  let isReady = false;
  let free = (): void => {};
  const ready = new Promise<void>((resolve) => {
    free = () => {
      isReady = true;
      resolve();
    };
  });
  const reader: RunReader = {
    begin() {},
    add() {},
    get isReady() {
      return isReady;
    },
    ready: () => ready,
    onFailure: undefined,
  };
  return { reader, free };
}

test('a run does not wait while its reader can take more events', async () => {
  const readers = new RunReaders();
  const { reader, free } = busyReader();
  readers.addRequester('w', reader);
  const { signal } = new AbortController();
  const ready = readers.whenReady('w', signal);
  expect(ready).toBeInstanceOf(Promise);
  free();
  await ready;
  expect(readers.whenReady('w', signal)).toBeUndefined();
});

test('a run that another tab requested does not wait', () => {
  expect(new RunReaders().whenReady('w', new AbortController().signal)).toBeUndefined();
});

test('a run whose reader cannot be reached fails at its next batch', async () => {
  const readers = new RunReaders();
  const ready = (): Promise<void> => Promise.reject(new Error('not cloneable'));
  readers.addRequester('w', { begin() {}, add() {}, isReady: false, ready, onFailure: undefined });
  await expect(readers.whenReady('w', new AbortController().signal)).rejects.toThrow(
    'not cloneable',
  );
});
