import { textOf, type AgentEvent } from '@isoloop/core';
import { expect, onTestFinished, test } from 'vitest';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
import { protocol, type PageMessage } from '../wire/protocol.ts';
import { tabVersion, type TabMessage } from '../wire/tab-protocol.ts';
import {
  cutOff,
  ends,
  leadHalfWay,
  read,
  says,
  shown,
  startTabs,
} from '../../test-support/tabs-under-test.ts';
import { rolesOf } from '@test/roles-of.ts';

const count = (events: readonly AgentEvent[], type: AgentEvent['type']): number =>
  events.filter((event) => event.type === type).length;

test('followers share the leader’s agent and see its run from the start, even if they join late', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  const leader = first.connect([[{ text: 'one ' }, { gate: 'middle', text: 'two' }], 'again']);
  await leader.messages();
  const follower = second.connect();
  const early = read(follower.watch());
  await follower.messages();
  const own = read(leader.stream('go'));
  await first.heard({ reached: 'middle' });
  await early.until(says('one'));
  const late = read(third.connect().watch());
  await late.until(says('one'));
  first.open('middle');
  await Promise.all([early.until(ends), late.until(ends), own.until(ends)]);
  expect(early.events).toEqual(own.events);
  expect(shown(late.events)).toBe('one two');
  expect(late.events[0]).toEqual(own.events[0]);
  expect(await follower.messages()).toEqual(await leader.messages());
  expect((await follower.call('more')).text).toBe('again');
  expect([...second.told, ...third.told]).toEqual([]);
});

test('a follower’s call waits for the leader’s run, and the follower can interrupt that run', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([[{ text: 'one ', hang: true }], 'second answer']);
  await leader.messages();
  const follower = second.connect();
  const own = read(leader.stream('first'));
  await own.until(says('one'));
  const waiting = follower.call('second');
  const given = read(follower.watch());
  await given.until(says('one'));
  expect(await follower.interrupt('Stopped from there.')).toBe(true);
  expect(await own.until(ends)).toMatchObject({
    result: { reason: 'interrupted', text: 'Stopped from there.' },
  });
  expect((await waiting).text).toBe('second answer');
  expect((await leader.messages()).map(textOf)).toEqual(
    ['first', 'one ', 'Stopped from there.', 'second', 'second answer'].filter(Boolean),
  );
});

test('a follower can abort its call both in the queue and during the run', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([
    [{ text: 'one ', hang: true }],
    [{ text: 'two ', hang: true }],
    'three',
  ]);
  await leader.messages();
  const follower = second.connect();
  await follower.messages();
  const controller = new AbortController();
  const own = read(leader.stream('first'));
  await own.until(says('one'));
  const waiting = follower.call('second', { signal: controller.signal });
  await follower.messages();
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' });
  await leader.interrupt();
  await own.until(ends);
  const later = new AbortController();
  const stream = follower.stream('third', { signal: later.signal });
  await read(stream).until(says('two'));
  later.abort();
  expect((await stream.result.catch((error: unknown) => error)) as object).toMatchObject({
    reason: 'aborted',
  });
  expect((await leader.call('fourth')).text).toBe('three');
});

test('concurrent calls of two tabs run one after the other; a second call of the same tab fails with AGENT_BUSY', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([
    [{ gate: 'one', text: 'first' }],
    [{ gate: 'two', text: 'second' }],
  ]);
  await leader.messages();
  const follower = second.connect();
  await follower.messages();
  const watching = read(follower.watch());
  const answers = [leader.call('a'), follower.call('b')];
  await first.heard({ reached: 'one' });
  const asking = textOf((await leader.messages())[0]!) === 'a' ? leader : follower;
  await expect(asking.call('c')).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  first.open('one');
  await first.heard({ reached: 'two' });
  first.open('two');
  expect((await Promise.all(answers)).map(({ text }) => text).toSorted()).toEqual([
    'first',
    'second',
  ]);
  expect(rolesOf(await leader.messages())).toBe('user assistant user assistant');
  await watching.until((event) => ends(event) && count(watching.events, 'run-end') === 2);
  const types = watching.events.map(({ type }) => type).filter((type) => type.startsWith('run-'));
  expect(types).toEqual(['run-start', 'run-end', 'run-start', 'run-end']);
});

test.for(['during the call', 'after the call'] as const)(
  'a message of an earlier leader, %s, does not mislead a follower: its call runs once, at the current leader',
  async (when) => {
    const { open, sessionId } = startTabs();
    const [first, second] = [open(), open()];
    const leader = first.connect([[{ gate: 'middle', text: 'fine' }], 'again']);
    await leader.messages();
    const watching = read(leader.watch());
    const follower = second.connect();
    const answer = follower.call('go');
    await first.heard({ reached: 'middle' });
    const channel = new BroadcastChannel(
      `isoloop:session:${JSON.stringify([undefined, sessionId])}`,
    );
    onTestFinished(() => channel.close());
    const asked: string[] = [];
    channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
      if (data.type === 'task') asked.push(data.leaderId);
    });
    channel.postMessage({
      version: tabVersion,
      senderId: 'nobody',
      type: 'lead',
      leaderId: 'long over',
      run: undefined,
    } satisfies TabMessage);
    await expect.poll(() => asked[0]).toBe('long over');
    let wake: (() => Promise<void>) | undefined;
    if (when === 'during the call') await expect.poll(() => asked.length).toBe(2);
    else wake = await second.freeze();
    first.open('middle');
    await watching.until(ends);
    await wake?.();
    expect((await answer).text).toBe('fine');
    expect((await leader.messages()).map(textOf)).toEqual(['go', 'fine']);
    expect(second.told.filter((one) => 'built' in one)).toEqual([]);
  },
);

test('a follower whose page is frozen still receives the answers to its calls', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([[{ gate: 'middle', text: 'late' }], 'later']);
  await leader.messages();
  const follower = second.connect();
  const answer = follower.call('go');
  await first.heard({ reached: 'middle' });
  second.worker.postMessage({ protocol: 'isoloop/4', type: 'freeze' });
  expect(await follower.messages()).toHaveLength(1);
  first.open('middle');
  expect((await answer).text).toBe('late');
  second.worker.postMessage({ protocol: 'isoloop/4', type: 'resume' });
  expect((await follower.call('more')).text).toBe('later');
});

test('a tab refuses requests with a code while a tab with another version of the protocol leads, and writes nothing', async () => {
  const { open, sessionId } = startTabs();
  const name = `isoloop:session:${JSON.stringify([undefined, sessionId])}`;
  const channel = new BroadcastChannel(name);
  onTestFinished(() => channel.close());
  let end = (): void => {};
  const other = new Promise<void>((resolve) => (end = resolve));
  void navigator.locks.request(name, () => other);
  const heard: unknown[] = [];
  channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
    heard.push([data.version, data.type]);
    if (data.type === 'join')
      channel.postMessage({ version: tabVersion + 1, senderId: 'other', type: 'lead' });
  });
  const tab = open().connect(['hello']);
  await expect(tab.call('go')).rejects.toMatchObject({ code: 'SESSION_CONFLICT', retryable: true });
  await expect(tab.messages()).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
  expect(heard).toEqual([[tabVersion, 'join']]);
  expect(await new IndexedDbStore({ database: sessionId }).keys('')).toEqual([]);
  end();
  await expect.poll(() => heard.at(-1)).toEqual([tabVersion, 'lead']);
  expect((await tab.call('go')).text).toBe('hello');
});

test('a leading tab answers a tab with another version, so that it can refuse its requests', async () => {
  const { open, sessionId } = startTabs();
  const tab = open().connect(['hello']);
  await tab.messages();
  const name = `isoloop:session:${JSON.stringify([undefined, sessionId])}`;
  const channel = new BroadcastChannel(name);
  onTestFinished(() => channel.close());
  const answer = new Promise<TabMessage>((resolve) =>
    channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => resolve(data)),
  );
  channel.postMessage({
    version: tabVersion + 1,
    senderId: 'other',
    type: 'task',
    requestId: 'x',
  });
  channel.postMessage({ version: tabVersion + 1, senderId: 'other', type: 'join' });
  expect(await answer).toMatchObject({ version: tabVersion, type: 'lead', receiverId: 'other' });
  expect((await tab.call('go')).text).toBe('hello');
});

test('each agent of a worker has its own leader, even within one session', async () => {
  const { open } = startTabs();
  const name = { several: true };
  const [first, second] = [open(name), open(name)];
  const [main, other] = [
    first.connect(['main'], { agent: 'main' }),
    second.connect(['other'], { agent: 'other' }),
  ];
  expect([(await main.call('a')).text, (await other.call('b')).text]).toEqual(['main', 'other']);
  const follower = second.connect(['never'], { agent: 'main' });
  expect((await follower.messages()).map(textOf)).toEqual(['a', 'main']);
  expect(second.told).toEqual([]);
  // The agent `other` keeps its conversation in memory only, so the next leader starts empty.
  const late = first.connect(['anew'], { agent: 'other' });
  expect(await late.messages()).toHaveLength(2);
  second.worker.terminate();
  expect((await late.call('c')).text).toBe('anew');
});

test('a follower’s call returns its named output, also after a leader’s crash; other outputs fail with INVALID_INPUT', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const gives = [{ toolCalls: [{ name: 'generate_response', input: { word: 'yes' } }] }];
  const leader = first.connect([gives, gives, ...cutOff]);
  await leader.messages();
  const follower = second.connect([gives]);
  expect((await follower.call('say', { output: 'word' })).output).toEqual({ word: 'yes' });
  await expect(follower.call('say', { output: 'odd' })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
  await expect(follower.call('say', { output: 'none' })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
  const answer = follower.call('go', { output: 'word' });
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  expect((await answer).output).toEqual({ word: 'yes' });
});

test('a follower can decide a call of the leader’s run', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([[{ toolCalls: [{ name: 'ask', id: 'a1' }] }], 'done']);
  const asked = await leader.call('may I?');
  expect(asked).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'a1', kind: 'approval' }],
  });
  expect((await second.connect().call([{ toolUseId: 'a1', type: 'approve' }])).text).toBe('done');
  expect(second.told).toEqual([]);
});

test('a leader whose page freezes steps down, follows after it wakes, and can lead again', async () => {
  const { open } = startTabs();
  const [first, second] = [open({ tabs: {} }), open({ tabs: { stalledAfterMs: 3000 } })];
  const leader = first.connect([...cutOff, 'never']);
  await leader.messages();
  const follower = second.connect([[{ text: 'the new ' }, { gate: 'new', text: 'answer' }]]);
  await follower.messages();
  const own = await leadHalfWay(first, leader);
  await own.until(says('of'));
  // Sent to this worker only, because both workers belong to the same page here.
  first.worker.postMessage({ protocol: 'isoloop/4', type: 'freeze' });
  await second.heard({ reached: 'new' });
  first.worker.postMessage({ protocol: 'isoloop/4', type: 'resume' });
  first.open('middle');
  second.open('new');
  expect(await own.until(ends)).toMatchObject({ result: { text: 'the new answer' } });
  expect(shown(own.events)).toBe('the new answer');
  second.worker.terminate();
  expect((await leader.messages()).map(textOf)).toEqual(['go', '', '', 'the new answer']);
});

test('a follower replaces a leader that freezes without notice; after waking, the old leader cannot write and follows', async () => {
  const { open } = startTabs();
  const tabs = { stalledAfterMs: 3000 };
  const [first, second] = [open({ tabs }), open({ tabs })];
  const leader = first.connect(cutOff);
  await leader.messages();
  const follower = second.connect([
    [{ text: 'the new ' }, { gate: 'new', text: 'answer' }],
    'the next',
  ]);
  const watching = read(follower.watch());
  await follower.messages();
  const own = await leadHalfWay(first, leader);
  await watching.until(says('of'));
  const wake = await first.freeze();
  // The old leader wakes and first tries to continue its run.
  first.open('middle');
  await second.heard({ reached: 'new' });
  second.open('new');
  expect(await watching.until(ends)).toMatchObject({ result: { text: 'the new answer' } });
  await wake();
  expect(await own.until(ends)).toMatchObject({ result: { text: 'the new answer' } });
  expect(shown(own.events)).toBe('the new answer');
  expect((await leader.call('more')).text).toBe('the next');
  expect((await leader.messages()).map(textOf)).toEqual([
    'go',
    '',
    '',
    'the new answer',
    'more',
    'the next',
  ]);
});

test.for(['locks', 'BroadcastChannel', 'leave for BroadcastChannel'] as const)(
  'without %s each tab works alone',
  async (missing) => {
    const { open } = startTabs();
    const [first, second] = [open({ without: [missing] }), open({ without: [missing] })];
    const [one, two] = [first.connect(['mine']), second.connect(['yours'])];
    const watching = read(one.watch());
    expect((await one.call('a')).text).toBe('mine');
    await watching.until(ends);
    expect((await two.call('b')).text).toBe('yours');
    expect((await two.messages()).map(textOf)).toEqual(['a', 'mine', 'b', 'yours']);
  },
);

test('without permission for locks, a tab leads at once and builds one agent, also after pageshow', async () => {
  const tab = startTabs().open({ without: ['leave for locks'] });
  const agent = tab.connect(['one', 'two', 'three']);
  expect((await agent.call('a')).text).toBe('one');
  tab.worker.postMessage({ protocol, type: 'pageshow' } satisfies PageMessage);
  expect((await agent.call('b')).text).toBe('two');
  expect(tab.told).toHaveLength(1);
});

test('with tabs: false each tab works alone; an invalid option fails the call with WORKER_FAILED', async () => {
  const { open } = startTabs();
  const [first, second] = [open({ tabs: false }), open({ tabs: false })];
  expect((await first.connect(['mine']).call('a')).text).toBe('mine');
  expect((await second.connect(['yours']).call('b')).text).toBe('yours');
  const wrong = open({ tabs: { attempts: -1 } });
  wrong.worker.addEventListener('error', (event) => event.preventDefault());
  await expect(wrong.connect().call('c')).rejects.toMatchObject({ code: 'WORKER_FAILED' });
});
