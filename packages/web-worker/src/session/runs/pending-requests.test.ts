import { expect, test } from 'vitest';
import { countedSignal } from '../../../test-support/counted-signal.ts';
import { PendingRequests } from './pending-requests.ts';
import { RunFeed } from './run-feed.ts';

test('a request that has its outcome leaves no listener on the signal of its reader', async () => {
  const requests = new PendingRequests(new RunFeed());
  const { signal, listenerCount } = countedSignal();
  const { id, outcome } = requests.add({
    body: { type: 'command', command: { type: 'pending' } },
    controller: new AbortController(),
    leaveSignal: signal,
  });
  expect(listenerCount()).toBe(1);
  requests.resolve(id, { ok: true, value: [] });
  expect(await outcome).toEqual({ ok: true, value: [] });
  expect(listenerCount()).toBe(0);
});
