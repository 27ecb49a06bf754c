import type { AgentEvent, AgentResult } from '@isoloop/core';
import { expect, test } from 'vitest';
import { countedSignal } from '../../../test-support/counted-signal.ts';
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

const base = { runId: 'r', sessionId: 's', iteration: 1, agentPath: ['a'], at: 0 } as const;
const runStart: AgentEvent = { ...base, seq: 1, type: 'run-start' };
const runEnd: AgentEvent = {
  ...base,
  seq: 2,
  type: 'run-end',
  result: { reason: 'stop', text: 'Yes.' } as AgentResult,
};

test('a reader that joined a run leaves no listener on its signal after the end of the run', async () => {
  const readers = new RunReaders();
  readers.show([runStart], 'w');
  const { signal, listenerCount } = countedSignal();
  const result = readers.join(busyReader().reader, signal);
  expect(listenerCount()).toBe(1);
  readers.show([runEnd], 'w');
  expect(await result).toMatchObject({ text: 'Yes.' });
  expect(listenerCount()).toBe(0);
});
