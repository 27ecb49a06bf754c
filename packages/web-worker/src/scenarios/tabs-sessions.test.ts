import { textOf, type JsonValue } from '@isoloop/core';
import { connectAgent, IndexedDbSessions, IndexedDbStore } from '@isoloop/web-worker';
import { expect, onTestFinished, test } from 'vitest';
import { cutOff, startTabs } from '../../test-support/tabs-under-test.ts';

test('the leader and the next leader see that a session was renamed, replaced or deleted', async () => {
  const { open, sessionId } = startTabs();
  const sessions = new IndexedDbSessions({ store: new IndexedDbStore({ database: sessionId }) });
  const [first, second] = [open(), open()];
  const leader = first.connect(['one', 'two', 'three', 'four']);
  await leader.call('a');
  const follower = second.connect(['five']);
  const exported = await sessions.export(sessionId);
  await sessions.rename(sessionId, 'Renamed');
  expect((await follower.call('b')).text).toBe('two');
  expect(await sessions.list()).toMatchObject([{ sessionId, title: 'Renamed' }]);
  await sessions.import(exported, { replace: true });
  expect((await follower.call('c')).text).toBe('three');
  expect((await follower.messages()).map(textOf)).toEqual(['a', 'one', 'c', 'three']);
  await sessions.delete(sessionId);
  expect((await leader.call('d')).text).toBe('four');
  first.worker.terminate();
  expect((await follower.call('e')).text).toBe('five');
  expect((await follower.messages()).map(textOf)).toEqual(['d', 'four', 'e', 'five']);
});

test('clear() in one tab fails with AGENT_BUSY while another tab’s call runs', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([[{ gate: 'middle', text: 'one' }]]);
  await leader.messages();
  const follower = second.connect();
  await follower.messages();
  const answer = leader.call('a');
  await first.heard({ reached: 'middle' });
  await expect(follower.clear()).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  first.open('middle');
  await answer;
  await follower.clear();
  expect(await leader.messages()).toEqual([]);
});

test('a deletion ends the run, drops the calls that wait, and nothing comes back', async () => {
  const { open, sessionId } = startTabs();
  const sessions = new IndexedDbSessions({ store: new IndexedDbStore({ database: sessionId }) });
  const [first, second] = [open(), open()];
  const leader = first.connect([...cutOff, 'two', 'three']);
  await leader.messages();
  const follower = second.connect(['anew']);
  const running = follower.call('go');
  await first.heard({ reached: 'middle' });
  const waiting = leader.call('waits');
  await leader.messages();
  const outcomes = Promise.allSettled([running, waiting]);
  await sessions.delete(sessionId);
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { code: expect.stringMatching(/^(ABORTED|SESSION_DELETED)$/) },
    });
  expect(await sessions.list()).toEqual([]);
  for (const page of [leader, follower]) expect(await page.messages()).toEqual([]);
  // A message that somebody sends now begins a new conversation.
  await follower.call('hello');
  expect((await leader.messages()).map(textOf)[0]).toBe('hello');
  first.worker.terminate();
  expect((await follower.messages()).map(textOf)[0]).toBe('hello');
});

test('a SharedWorker and a tab’s own worker share one session, whichever of the two leads', async () => {
  const { open, sessionId } = startTabs();
  const tab = open();
  const own = tab.connect(['own']);
  await own.messages();
  const name = JSON.stringify({ id: crypto.randomUUID() });
  const worker = new SharedWorker(new URL('../../test-support/tabs.ts', import.meta.url), {
    type: 'module',
    name,
  });
  const options = { replies: ['shared'], database: sessionId } as unknown as JsonValue;
  const shared = connectAgent(worker, { timeoutMs: 120_000, sessionId, options });
  // A SharedWorker ends with its page, unless it ends itself.
  onTestFinished(() => {
    shared.close();
    worker.port.postMessage({ end: true });
    worker.port.close();
  });
  expect((await shared.call('a')).text).toBe('own');
  tab.worker.terminate();
  expect((await shared.call('b')).text).toBe('shared');
  const back = open().connect(['never']);
  expect((await back.messages()).map(textOf)).toEqual(['a', 'own', 'b', 'shared']);
});
