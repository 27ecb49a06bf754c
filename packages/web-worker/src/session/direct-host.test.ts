import { textOf } from '@isoloop/core';
import { expect, onTestFinished, test } from 'vitest';
import {
  cutOff,
  ends,
  leadHalfWay,
  read,
  says,
  shown,
  startTabs,
} from '../../test-support/tabs-under-test.ts';
import { IndexedDbMemory } from '../store/indexed-db-memory.ts';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
import type { PageMessage } from '../wire/protocol.ts';
import { tabVersion, type TabMessage } from '../wire/tab-protocol.ts';
import { rolesOf } from '@test/roles-of.ts';
import { testDatabase } from '../../test-support/database.ts';

const channelOf = (sessionId: string): string =>
  `isoloop:session:${JSON.stringify([undefined, sessionId])}`;

/** Collects the messages that tabs post on the session's channel. */
function overhear(sessionId: string): readonly TabMessage[] {
  const heard: TabMessage[] = [];
  const channel = new BroadcastChannel(channelOf(sessionId));
  channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => heard.push(data));
  onTestFinished(() => channel.close());
  return heard;
}

async function sessionLocks(sessionId: string): Promise<readonly number[]> {
  const { held = [], pending = [] } = await navigator.locks.query();
  return [held, pending].map(
    (locks) => locks.filter(({ name }) => name === channelOf(sessionId)).length,
  );
}

const sleep = { protocol: 'isoloop/4', type: 'freeze' } satisfies PageMessage;
const wake = { protocol: 'isoloop/4', type: 'resume' } satisfies PageMessage;

test('a lone tab announces once that it leads, and posts nothing for its calls, queries and events', async () => {
  const { open, sessionId } = startTabs();
  const heard = overhear(sessionId);
  const tab = open();
  const agent = tab.connect([[{ toolCalls: [{ name: 'note' }] }], 'one', 'two', 'three']);
  const watching = read(agent.watch());
  expect((await agent.call('a')).text).toBe('one');
  await read(agent.stream('b')).until(ends);
  const chunks = await agent.chatTransport().sendMessages({
    trigger: 'submit-message',
    messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'c' }] }],
    abortSignal: undefined,
  });
  for await (const _chunk of chunks) continue;
  expect(await agent.messages()).toHaveLength(8);
  await watching.until((event) => ends(event) && shown(watching.events) === 'three');
  // The tab answers this message after all its earlier posts, so they have arrived by then.
  const channel = new BroadcastChannel(channelOf(sessionId));
  onTestFinished(() => channel.close());
  channel.postMessage({
    version: tabVersion,
    senderId: 'another',
    type: 'join',
  } satisfies TabMessage);
  await expect.poll(() => heard.filter(({ type }) => type === 'lead').length).toBe(2);
  expect(heard.map(({ type }) => type).filter((type) => type !== 'join')).toEqual(['lead', 'lead']);
  expect(await sessionLocks(sessionId)).toEqual([1, 0]);
});

test('a tab with tabs: false posts nothing and takes no lock', async () => {
  const { open, sessionId } = startTabs();
  const heard = overhear(sessionId);
  const tab = open({ tabs: false });
  expect((await tab.connect(['one']).call('a')).text).toBe('one');
  tab.worker.postMessage(sleep);
  tab.worker.postMessage(wake);
  expect(await tab.connect().messages()).toHaveLength(2);
  expect(heard).toEqual([]);
  expect(await sessionLocks(sessionId)).toEqual([0, 0]);
});

test.for(['before', 'during', 'after'] as const)(
  'a second tab that connects %s the first tab’s run sees it and shares its agent',
  async (when) => {
    const { open } = startTabs();
    const [first, second] = [open(), open()];
    const one = first.connect([...cutOff, 'again']);
    await one.messages();
    const two = second.connect(['never']);
    if (when === 'before') await two.messages();
    const own = read(one.stream('go'));
    await first.heard({ reached: 'middle' });
    if (when === 'after') {
      first.open('middle');
      await own.until(ends);
    }
    const watching = read(two.watch());
    if (when !== 'after') {
      await watching.until(says('of'));
      first.open('middle');
      await Promise.all([watching.until(ends), own.until(ends)]);
      expect(watching.events).toEqual(own.events);
    }
    expect((await two.messages()).map(textOf)).toEqual(['go', '', '', 'half of the old answer']);
    expect((await two.call('more')).text).toBe('again');
    expect(await one.messages()).toEqual(await two.messages());
    expect(second.told).toEqual([]);
  },
);

test('a second tab can interrupt a run that the first tab began before', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const one = first.connect([[{ text: 'one ', hang: true }]]);
  const own = read(one.stream('go'));
  await own.until(says('one'));
  expect(await second.connect().interrupt('Stopped from there.')).toBe(true);
  expect(await own.until(ends)).toMatchObject({ result: { reason: 'interrupted' } });
});

test('a second tab that connects while the first builds its agent waits for that agent', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const one = first.connect(['one', 'two'], { slow: 'building' });
  const answer = one.call('a');
  await first.heard({ reached: 'building' });
  const two = second.connect().call('b');
  await expect.poll(async () => (await navigator.locks.query()).pending?.length).toBeGreaterThan(0);
  first.open('building');
  expect([(await answer).text, (await two).text]).toEqual(['one', 'two']);
  expect(second.told).toEqual([]);
});

test('when the first tab crashes, the second tab continues a run that began before the second tab opened', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const own = await leadHalfWay(first, first.connect(cutOff));
  const two = second.connect(['the new answer']);
  const watching = read(two.watch());
  await watching.until(says('of'));
  first.worker.terminate();
  expect(await watching.until(ends)).toMatchObject({ result: { text: 'the new answer' } });
  expect(watching.events[0]).toEqual(own.events[0]);
  expect([...first.told, ...second.told].filter((one) => 'ran' in one)).toEqual([{ ran: 'n1' }]);
});

test('a second tab takes over a run whose tab dies before it answers the second tab', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  await leadHalfWay(first, first.connect(cutOff));
  // The first worker no longer reads messages, so the second tab connects and gets no answer.
  first.worker.postMessage({ spin: true });
  const answer = second.connect(['the new answer', 'yours']).call('mine');
  await expect.poll(async () => (await navigator.locks.query()).pending?.length).toBeGreaterThan(0);
  first.worker.terminate();
  expect((await answer).text).toBe('yours');
  expect([...first.told, ...second.told].filter((one) => 'ran' in one)).toEqual([{ ran: 'n1' }]);
});

test('a tab that opens after the only other tab died resumes the run from the log', async () => {
  const { open, sessionId } = startTabs();
  const [first, second] = [open(), open()];
  await leadHalfWay(first, first.connect(cutOff));
  first.worker.terminate();
  await expect.poll(() => sessionLocks(sessionId)).toEqual([0, 0]);
  const two = second.connect(['the new answer']);
  expect((await two.resume())?.text).toBe('the new answer');
  expect(rolesOf(await two.messages())).toBe('user assistant tool assistant');
  expect(second.told.filter((one) => 'ran' in one)).toEqual([]);
});

test.for([1, 2, 3, 4, 5])(
  'tabs that open and call at the same moment share one agent (%i)',
  async () => {
    const { open } = startTabs();
    const tabs = [open(), open(), open()];
    const agents = tabs.map((tab) => tab.connect(['one', 'two', 'three']));
    const answers = await Promise.all(agents.map((agent, index) => agent.call(`call ${index}`)));
    expect(answers.map(({ text }) => text).toSorted()).toEqual(['one', 'three', 'two']);
    const told = tabs.flatMap((tab) => tab.told).filter((one) => 'built' in one);
    expect(told).toHaveLength(1);
    const [messages, ...others] = await Promise.all(agents.map((agent) => agent.messages()));
    expect(messages!.map(({ role }) => role)).toEqual(
      Array.from({ length: 3 }, () => ['user', 'assistant']).flat(),
    );
    for (const other of others) expect(other).toEqual(messages);
  },
);

test('a lone tab releases the session’s lock when its page freezes, and answers again when its page wakes', async () => {
  const { open, sessionId } = startTabs();
  const tab = open();
  const agent = tab.connect(['one']);
  await agent.call('go');
  tab.worker.postMessage(sleep);
  await expect.poll(() => sessionLocks(sessionId)).toEqual([0, 0]);
  tab.worker.postMessage(wake);
  expect((await agent.call('more')).text).toBe('one');
  expect(await sessionLocks(sessionId)).toEqual([1, 0]);
  expect(await agent.messages()).toHaveLength(4);
});

test('a lone tab whose page freezes in mid-run continues the run when its page wakes', async () => {
  const { open, sessionId } = startTabs();
  const tab = open();
  const agent = tab.connect([[{ text: 'half of ' }, { gate: 'middle', text: 'the answer' }]]);
  const stream = agent.stream('go');
  const own = read(stream);
  await own.until(says('of'));
  tab.worker.postMessage(sleep);
  await expect.poll(() => sessionLocks(sessionId)).toEqual([0, 0]);
  tab.worker.postMessage(wake);
  await expect.poll(() => tab.told.filter((one) => 'reached' in one)).toHaveLength(2);
  tab.open('middle');
  expect((await stream.result).text).toBe('half of the answer');
  await own.until(ends);
  expect(shown(own.events)).toBe('half of the answer');
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'half of the answer']);
});

test('a tab that opens while another tab is frozen continues the frozen tab’s run and does not start it again', async () => {
  const { open, sessionId } = startTabs();
  const [first, second] = [open(), open()];
  const one = first.connect(cutOff);
  const stream = one.stream('go');
  const own = read(stream);
  await own.until(says('of'));
  first.worker.postMessage(sleep);
  await expect.poll(() => sessionLocks(sessionId)).toEqual([0, 0]);
  // The second tab leads now. It reads the log only at the first call to its agent.
  read(second.connect(['the new answer']).watch());
  await expect.poll(() => sessionLocks(sessionId)).toEqual([1, 0]);
  first.worker.postMessage(wake);
  expect((await stream.result).text).toBe('the new answer');
  await own.until(ends);
  expect(shown(own.events)).toBe('the new answer');
  expect((await one.messages()).map(textOf)).toEqual(['go', '', '', 'the new answer']);
});

test.for(['alone', 'with another tab'] as const)(
  'a tab %s releases the session’s lock when it closes after another writer has claimed its log',
  async (how) => {
    const { open, sessionId } = startTabs();
    const agent = open().connect([[{ text: 'one ', hang: true }]]);
    const own = read(agent.stream('go'));
    await own.until(says('one'));
    if (how === 'with another tab') {
      const channel = new BroadcastChannel(channelOf(sessionId));
      onTestFinished(() => channel.close());
      const heard = overhear(sessionId);
      channel.postMessage({
        version: tabVersion,
        senderId: 'another',
        type: 'join',
      } satisfies TabMessage);
      await expect.poll(() => heard.some(({ type }) => type === 'lead')).toBe(true);
    }
    const memory = new IndexedDbMemory(sessionId, {
      store: new IndexedDbStore({ database: testDatabase(sessionId) }),
    });
    await memory.claim({ write: true });
    agent.close();
    await expect.poll(() => sessionLocks(sessionId)).toEqual([0, 0]);
  },
);
