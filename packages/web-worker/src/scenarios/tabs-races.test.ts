import { assistantMessage, textOf, type AgentResult } from '@isoloop/core';
import { noUsage } from '@isoloop/core/model';
import { expect, onTestFinished, test } from 'vitest';
import { IndexedDbMemory } from '../store/indexed-db-memory.ts';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
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

const isOf =
  (session: string) =>
  ({ name = '' }: { readonly name?: string }): boolean =>
    name.includes(session);
const noResult: AgentResult = {
  text: '',
  message: assistantMessage([]),
  reason: 'stop',
  usage: noUsage,
  toolsUsed: [],
  durationMs: 0,
  iterations: 0,
  pending: [],
  sessionVersion: 0,
};
const afterCutOff = 'user assistant tool assistant';

test('an interrupt during a takeover stops the continued run', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  await first.connect(cutOff).messages();
  const follower = second.connect([[{ text: 'the new ', hang: true }]]);
  const answer = follower.call('go');
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  expect(await follower.interrupt('Stopped.')).toBe(true);
  expect(await answer).toMatchObject({ reason: 'interrupted', text: 'Stopped.' });
});

test('a reader that stops another tab’s run during a takeover stops the continued run', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  const leader = first.connect(cutOff);
  await leader.messages();
  const replies = [[{ text: 'the new ', hang: true }]];
  const [asks, stops] = [second.connect(replies), third.connect(replies)];
  await stops.messages();
  const answer = asks.call('go');
  await first.heard({ reached: 'middle' });
  const controller = new AbortController();
  const stream = await stops.chatTransport().reconnectToStream({ abortSignal: controller.signal });
  const reader = stream!.getReader();
  for (
    let text = '';
    !text.includes('of ');
    text += JSON.stringify((await reader.read()).value ?? '')
  );
  first.worker.terminate();
  controller.abort();
  expect(await answer).toMatchObject({ reason: 'aborted' });
});

test('a tab that closes during its takeover leaves the run to the next tab', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  await first.connect(cutOff).messages();
  const heir = second.connect(['never'], { slow: 'building' });
  const watching = read(heir.watch());
  await heir.messages();
  const last = third.connect(['the new answer']);
  const answer = last.call('go');
  await first.heard({ reached: 'middle' });
  await watching.until(says('of'));
  first.worker.terminate();
  await second.heard({ reached: 'building' });
  heir.close();
  second.open('building');
  expect(await answer).toMatchObject({ reason: 'stop', text: 'the new answer' });
  expect(rolesOf(await last.messages())).toBe(afterCutOff);
});

test('one of two followers takes over from a frozen leader, and the calls of both followers run once', async () => {
  const { open } = startTabs();
  // On a busy machine, a follower may also take over from a slow leader. The test's result is the
  // same.
  const tabs = { stalledAfterMs: 3000 };
  const [first, second, third] = [open({ tabs }), open({ tabs }), open({ tabs })];
  const leader = first.connect(cutOff);
  await leader.messages();
  const replies = ['the new answer', 'one', 'two'];
  const [one, two] = [second.connect(replies), third.connect(replies)];
  await Promise.all([one.messages(), two.messages()]);
  const own = await leadHalfWay(first, leader);
  const answers = [one.call('a'), two.call('b')];
  await Promise.all([one.messages(), two.messages()]);
  const wake = await first.freeze();
  first.open('middle');
  for (const { reason } of await Promise.all(answers)) expect(reason).toBe('stop');
  await wake();
  expect(await own.until(ends)).toMatchObject({ result: { text: 'the new answer' } });
  expect(shown(own.events)).toBe('the new answer');
  const messages = await leader.messages();
  expect(rolesOf(messages)).toBe(`${afterCutOff} user assistant user assistant`);
  expect(
    messages
      .map(textOf)
      .filter((text) => text === 'a' || text === 'b')
      .toSorted(),
  ).toEqual(['a', 'b']);
});

test('a leader that wakes after two takeovers gets the end of its run and does not repeat the run', async () => {
  const { open } = startTabs();
  // The next leader waits so long for the frozen tab to say which page tools it has.
  const tabs = { stalledAfterMs: 3000 };
  const [first, second, third] = [open(), open({ tabs }), open({ tabs })];
  const leader = first.connect(cutOff);
  await leader.messages();
  const heir = second.connect(['the new answer', 'one'], { slow: 'building' });
  // The second tab follows now, so it can continue the leader's run later.
  expect(await heir.messages()).toEqual([]);
  const stream = leader.stream('go');
  const own = read(stream);
  await first.heard({ reached: 'middle' });
  const answer = heir.call('a');
  first.worker.postMessage({ protocol: 'isoloop/4', type: 'freeze' });
  await second.heard({ reached: 'building' });
  const wake = await first.freeze();
  second.open('building');
  expect((await answer).text).toBe('one');
  const last = third.connect(['two']);
  expect(await last.messages()).toHaveLength(6);
  second.worker.terminate();
  expect((await last.call('b')).text).toBe('two');
  await wake();
  expect(await stream.result).toMatchObject({ reason: 'stop', text: 'the new answer' });
  expect(shown(own.events)).toBe('the new answer');
  expect((await last.messages()).map(textOf)).toEqual([
    'go',
    '',
    '',
    'the new answer',
    'a',
    'one',
    'b',
    'two',
  ]);
});

test('a tab that opens while the leader is frozen continues the leader’s run, and the leader gets the end when it wakes', async () => {
  const { open, sessionId } = startTabs();
  const [first, second] = [open(), open({ tabs: { stalledAfterMs: 3000 } })];
  const leader = first.connect(cutOff);
  await leader.messages();
  const stream = leader.stream('go');
  const own = read(stream);
  await first.heard({ reached: 'middle' });
  first.worker.postMessage({ protocol: 'isoloop/4', type: 'freeze' });
  await expect
    .poll(async () => (await navigator.locks.query()).held?.some(isOf(sessionId)))
    .toBe(false);
  const wake = await first.freeze();
  const other = second.connect(['the new answer']);
  expect(await other.messages()).toHaveLength(3);
  await wake();
  expect(await stream.result).toMatchObject({ reason: 'stop', text: 'the new answer' });
  expect(shown(own.events)).toBe('the new answer');
  expect((await other.messages()).map(textOf)).toEqual(['go', '', '', 'the new answer']);
});

test('a tab that takes over from a slow leader accepts the leader’s late answer and does not repeat the call', async () => {
  const { open, sessionId } = startTabs();
  const [first, second] = [open(), open()];
  await first.connect([[{ gate: 'middle', text: 'never said' }]]).messages();
  const channel = new BroadcastChannel(`isoloop:session:${JSON.stringify([undefined, sessionId])}`);
  onTestFinished(() => channel.close());
  const asked = new Promise<Extract<TabMessage, { type: 'task' }>>((resolve) =>
    channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
      if (data.type === 'task') resolve(data);
    }),
  );
  const follower = second.connect([], { slow: 'building' });
  const answer = follower.call('go');
  const { senderId: receiverId, requestId, leaderId } = await asked;
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  await second.heard({ reached: 'building' });
  const result = { ...noResult, text: 'said late' };
  const late: TabMessage = {
    version: tabVersion,
    senderId: 'the leader before',
    type: 'done',
    leaderId,
    receiverId,
    requestId,
    outcome: { ok: true, value: result },
  };
  channel.postMessage(late);
  expect(await answer).toMatchObject({ text: 'said late' });
});

test('after the calling tab has crashed, a run continues in a second tab, and in a third tab when the second tab closes', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  const leader = first.connect(cutOff);
  await leader.messages();
  const heir = second.connect([[{ text: 'never said', hang: true }]]);
  await heir.messages();
  const last = third.connect(['the new answer']);
  const watching = read(last.watch());
  await last.messages();
  await leadHalfWay(first, leader);
  first.worker.terminate();
  await watching.until(says('never'));
  heir.close();
  expect(await watching.until(ends)).toMatchObject({
    result: { reason: 'stop', text: 'the new answer' },
  });
  expect(rolesOf(await last.messages())).toBe(afterCutOff);
});

test.for(['ended in the log', 'no tab continues'] as const)(
  'all readers get the end of a run that %s',
  async (how) => {
    const { open, sessionId } = startTabs();
    const tabs = { attempts: 0 };
    const [first, second, third, fourth] = [
      open({ tabs }),
      open({ tabs }),
      open({ tabs }),
      open({ tabs }),
    ];
    await first.connect(cutOff).messages();
    const heir = second.connect();
    await heir.messages();
    const stream = third.connect().stream('go');
    const own = read(stream);
    await own.until(says('of'));
    const other = fourth.connect();
    const watching = read(other.watch());
    const joined = (await other.chatTransport().reconnectToStream())!;
    await watching.until(says('of'));
    if (how === 'ended in the log') {
      const memory = new IndexedDbMemory(sessionId, {
        store: new IndexedDbStore({ database: sessionId }),
      });
      await memory.append([assistantMessage('the old answer')]);
      await memory.flush({ runId: own.events[0]!.runId, reason: 'stop', calls: new Map() });
    }
    first.worker.terminate();
    const { reason, text } = await stream.result;
    expect([reason, text]).toEqual(
      how === 'ended in the log' ? ['stop', 'the old answer'] : ['suspended', ''],
    );
    for (const reading of [own, watching])
      expect(await reading.until(ends)).toMatchObject({ result: { reason, text } });
    let last: object = {};
    for await (const chunk of joined) last = chunk;
    expect(last).toMatchObject({ type: 'finish' });
  },
);

test('a tab that waits to lead continues a run that the leader did not announce', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect(cutOff);
  await leader.messages();
  await leadHalfWay(first, leader);
  // Blocks the worker with an endless loop, because Chromium cannot terminate a worker during a
  // synchronous request.
  first.worker.postMessage({ spin: true });
  const watching = read(second.connect(['the new answer']).watch());
  await expect.poll(async () => (await navigator.locks.query()).pending?.length).toBeGreaterThan(0);
  first.worker.terminate();
  expect(await watching.until(ends)).toMatchObject({
    result: { reason: 'stop', text: 'the new answer' },
  });
});
