import { textOf } from '@isoloop/core';
import { expect, test } from 'vitest';
import { IndexedDbMemory } from '../store/indexed-db-memory.ts';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
import { cutOff, read, startTabs } from '../../test-support/tabs-under-test.ts';

/**
 * Ways in which a browser has no Web Locks. `leave for locks`: a request fails with SecurityError.
 */
const kinds = ['leave for locks', 'locks'] as const;

const storedTexts = async (sessionId: string): Promise<readonly string[]> => {
  const store = new IndexedDbStore({ database: sessionId });
  return (await new IndexedDbMemory(sessionId, { store }).read()).map(textOf);
};

test.for(kinds)(
  'without %s, the tab that asked last writes, the other tab’s run ends with SESSION_CONFLICT, and no call hangs',
  async (kind) => {
    const { open, sessionId } = startTabs();
    const tabs = [open({ without: [kind] }), open({ without: [kind] }), open({ without: [kind] })];
    const [first, second, third] = tabs as [(typeof tabs)[0], (typeof tabs)[0], (typeof tabs)[0]];
    const slow = first.connect([[{ text: 'one ' }, { gate: 'middle', text: 'late' }], 'again']);
    const early = slow.call('a');
    const failed = early.catch((error: unknown) => error);
    await first.heard({ reached: 'middle' });
    expect((await second.connect(['two']).call('b')).text).toBe('two');
    first.open('middle');
    expect(await failed).toMatchObject({ code: 'SESSION_CONFLICT' });
    expect((await third.connect(['three']).call('c')).text).toBe('three');
    expect((await slow.call('d')).text).toBe('again');
    const texts = await storedTexts(sessionId);
    expect(texts.slice(-6)).toEqual(['b', 'two', 'c', 'three', 'd', 'again']);
    expect(texts).not.toContain('one late');
  },
);

test.for(kinds)('without %s, a resumed run of another tab runs no tool again', async (kind) => {
  const { open } = startTabs();
  const [first, second] = [open({ without: [kind] }), open({ without: [kind] })];
  const one = first.connect(cutOff);
  const failed = one.call('go').catch((error: unknown) => error);
  await first.heard({ reached: 'middle' });
  expect((await second.connect(['the new answer']).call()).text).toBe('the new answer');
  first.open('middle');
  expect(await failed).toMatchObject({ code: 'SESSION_CONFLICT' });
  expect(second.told.filter((each) => 'ran' in each)).toEqual([]);
});

test.for(kinds)('without %s, a store without compareAndSet is refused', async (kind) => {
  const { open, sessionId } = startTabs();
  const tab = open({ without: [kind] }).connect(['never'], { weak: true });
  for (const call of [() => tab.call('a'), () => tab.messages(), () => tab.clear()])
    await expect(call()).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('compareAndSet') as string,
    });
  expect(await storedTexts(sessionId)).toEqual([]);
});

test('if another writer claims the session during a continued run, the leader serves the next request', async () => {
  const { open, sessionId } = startTabs();
  const [first, second] = [open(), open()];
  await first.connect(cutOff).messages();
  const next = second.connect([[{ gate: 'middle', text: 'continued' }], 'the next answer']);
  const watching = read(next.watch());
  await next.messages();
  const asked = first.connect().call('go');
  asked.catch(() => {});
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  await second.heard({ reached: 'middle' });
  const store = new IndexedDbStore({ database: sessionId });
  await new IndexedDbMemory(sessionId, { store }).claim();
  second.open('middle');
  const reached = () => second.told.filter((each) => 'reached' in each).length;
  await expect.poll(reached).toBe(2);
  second.open('middle');
  expect((await next.call('more')).text).toBe('the next answer');
  expect(watching.events.length).toBeGreaterThan(0);
});
