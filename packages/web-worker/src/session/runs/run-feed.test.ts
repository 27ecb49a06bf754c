import type { AgentEvent, AgentResult } from '@isoloop/core';
import { expect, test } from 'vitest';
import { countedSignal } from '../../../test-support/counted-signal.ts';
import { RunFeed, type RunReader } from './run-feed.ts';

/** Creates a reader that collects the numbers of its events. */
function collectingReader(): { readonly reader: RunReader; readonly seqs: readonly number[] } {
  const seqs: number[] = [];
  const reader: RunReader = {
    begin() {},
    add: (events) => void seqs.push(...events.map(({ seq }) => seq)),
    isReady: true,
    ready: () => Promise.resolve(),
    onFailure: undefined,
  };
  return { reader, seqs };
}

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
  const feed = new RunFeed();
  const { reader, free } = busyReader();
  feed.addRequester('w', reader);
  const { signal } = new AbortController();
  const ready = feed.whenReady('w', signal);
  expect(ready).toBeInstanceOf(Promise);
  free();
  await ready;
  expect(feed.whenReady('w', signal)).toBeUndefined();
});

test('a run that another tab requested does not wait', () => {
  expect(new RunFeed().whenReady('w', new AbortController().signal)).toBeUndefined();
});

test('a run whose reader cannot be reached fails at its next batch', async () => {
  const feed = new RunFeed();
  const ready = (): Promise<void> => Promise.reject(new Error('not cloneable'));
  feed.addRequester('w', { begin() {}, add() {}, isReady: false, ready, onFailure: undefined });
  await expect(feed.whenReady('w', new AbortController().signal)).rejects.toThrow('not cloneable');
});

const base = { runId: 'r', sessionId: 's', iteration: 1, agentPath: ['a'], at: 0 } as const;
const runStart: AgentEvent = { ...base, seq: 1, type: 'run-start' };
const delta = (seq: number, text: string): AgentEvent => ({
  ...base,
  seq,
  type: 'reasoning-chunk',
  kind: 'text',
  blockId: 'b',
  delta: text,
});
const endOf = (reason: AgentResult['reason'], seq = 9): AgentEvent => ({
  ...base,
  seq,
  type: 'run-end',
  result: { reason, text: 'Yes.' } as AgentResult,
});
const runEnd = endOf('stop');
const { signal: neverLeaves } = new AbortController();

test('a reader that joined a run leaves no listener on its signal after the end of the run', async () => {
  const feed = new RunFeed();
  feed.publish([runStart], 'w');
  const { signal, listenerCount } = countedSignal();
  const result = feed.join(busyReader().reader, signal);
  expect(listenerCount()).toBe(1);
  feed.publish([runEnd], 'w');
  expect(await result).toMatchObject({ text: 'Yes.' });
  expect(listenerCount()).toBe(0);
});

test('a reader that joins gets the run from its start, and a second run-start only once', async () => {
  const feed = new RunFeed();
  const [requester, joined, watched] = [collectingReader(), collectingReader(), [] as number[]];
  feed.addRequester('w', requester.reader);
  feed.publish([runStart, delta(2, 'Y')], 'w');
  feed.watch((events) => void watched.push(...events.map(({ seq }) => seq)));
  const result = feed.join(joined.reader, neverLeaves);
  feed.publish([{ ...runStart, seq: 3 }, delta(4, 'es.')], 'w');
  feed.publish([runEnd], 'w');
  expect(await result).toMatchObject({ text: 'Yes.' });
  for (const seqs of [requester.seqs, joined.seqs, watched]) expect(seqs).toEqual([1, 2, 4, 9]);
  expect(feed.activeRun).toBeUndefined();
});

test('only its own reader gets the events of a request that the agent refuses during another run', () => {
  const feed = new RunFeed();
  const [active, refused, watched] = [collectingReader(), collectingReader(), [] as number[]];
  feed.addRequester('w', active.reader);
  feed.addRequester('refused', refused.reader);
  feed.watch((events) => void watched.push(...events.map(({ seq }) => seq)));
  feed.publish([runStart], 'w');
  feed.publish([{ ...runStart, seq: 5 }, endOf('error', 6)], 'refused');
  expect([active.seqs, refused.seqs, watched]).toEqual([[1], [5, 6], [1]]);
  expect(feed.activeRun?.requestId).toBe('w');
});

test.for([
  {
    how: 'with an error',
    last: [
      {
        ...base,
        seq: 2,
        type: 'error',
        error: { name: 'AgentError', code: 'MODEL_AUTH', message: 'No access.', retryable: false },
      },
      endOf('error'),
    ] as AgentEvent[],
    error: { code: 'MODEL_AUTH', message: 'No access.' },
  },
  {
    how: 'with an error that its events do not tell',
    last: [endOf('error')],
    error: { code: 'WORKER_TERMINATED', message: 'The run failed, and its tab is gone.' },
  },
  {
    how: 'without an end in its events',
    last: [],
    error: { code: 'WORKER_TERMINATED', message: 'The run ended because its tab has closed.' },
  },
])('the result of a reader that joined a run rejects if the run ends $how', async (run) => {
  const feed = new RunFeed();
  feed.publish([runStart], 'w');
  const result = feed.join(collectingReader().reader, neverLeaves);
  feed.publish(run.last, 'w');
  feed.catchUp(undefined);
  await expect(result).rejects.toMatchObject(run.error);
});

test('a tab that knows another run takes all events of the leader’s run', () => {
  const [follower, leader] = [new RunFeed(), new RunFeed()];
  follower.publish([runStart, delta(2, 'old')], 'w');
  const watched: (readonly AgentEvent[])[] = [];
  follower.watch((events) => void watched.push(events));
  const newEvents = [{ ...runStart, at: 1 }, delta(2, 'new')];
  leader.publish(newEvents, 'other');
  follower.catchUp(leader.activeRun?.state);
  expect(watched).toEqual([[runStart, delta(2, 'old')], newEvents]);
  expect(follower.activeRun?.requestId).toBe('other');
});
