import {
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  userMessage,
  type AgentEvent,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { SessionPages } from '../session/page/session-pages.ts';
import { RunFeed } from '../session/runs/run-feed.ts';
import { SessionRuns } from '../session/runs/session-runs.ts';
import { tabSettings } from '../session/tab-options.ts';
import { RunTakeover } from './run-takeover.ts';
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

const increases = (events: readonly AgentEvent[]): boolean =>
  events.every(({ seq }, index) => index === 0 || seq > events[index - 1]!.seq);

test('a follower continues the run of a crashed leader: the run ends once and repeats no finished tool', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  const leader = first.connect(cutOff);
  await leader.messages();
  const [follower, other] = [second.connect(['the new answer']), third.connect(['the new answer'])];
  const watching = [read(follower.watch()), read(other.watch())];
  await Promise.all([follower.messages(), other.messages()]);
  await leadHalfWay(first, leader);
  await Promise.all(watching.map((reading) => reading.until(says('of'))));
  first.worker.terminate();
  for (const reading of watching) {
    expect(await reading.until(ends)).toMatchObject({
      result: { reason: 'stop', text: 'the new answer' },
    });
    expect(shown(reading.events)).toBe('the new answer');
    expect([
      count(reading.events, 'run-end'),
      count(reading.events, 'step-reset'),
      count(reading.events, 'post-acting'),
    ]).toEqual([1, 1, 1]);
    expect(increases(reading.events)).toBe(true);
  }
  expect(rolesOf(await follower.messages())).toBe('user assistant tool assistant');
  expect([first, second, third].flatMap(({ told }) => told).filter((one) => 'ran' in one)).toEqual([
    { ran: 'n1' },
  ]);
  expect([second, third].flatMap(({ told }) => told).filter((one) => 'built' in one)).toHaveLength(
    1,
  );
});

test('a follower’s stream continues when the leader crashes, and the follower’s next call runs', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  await first.connect(cutOff).messages();
  const follower = second.connect(['the new answer', 'the next answer']);
  const stream = follower.stream('go');
  const own = read(stream);
  await own.until(says('of'));
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  await own.until(ends);
  expect((await stream.result).text).toBe('the new answer');
  expect([shown(own.events), count(own.events, 'run-start'), count(own.events, 'run-end')]).toEqual(
    ['the new answer', 1, 1],
  );
  expect((await follower.call('next')).text).toBe('the next answer');
  expect(rolesOf(await follower.messages())).toBe('user assistant tool assistant user assistant');
});

test('if the leader crashes before it starts a call, the next leader makes the call once', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect(cutOff);
  await leader.messages();
  const follower = second.connect(['the new answer', 'yours']);
  await follower.messages();
  await leadHalfWay(first, leader);
  const waiting = follower.call('mine');
  await follower.messages();
  first.worker.terminate();
  expect((await waiting).text).toBe('yours');
  expect((await follower.messages()).map(textOf)).toEqual([
    'go',
    '',
    '',
    'the new answer',
    'mine',
    'yours',
  ]);
});

test('a leader that closes leaves another tab’s run to a follower', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect(cutOff);
  await leader.messages();
  const follower = second.connect(['the new answer']);
  const answer = follower.call('go');
  await first.heard({ reached: 'middle' });
  leader.close();
  expect((await answer).text).toBe('the new answer');
  expect([...first.told, ...second.told].filter((one) => 'ran' in one)).toEqual([{ ran: 'n1' }]);
});

test('tabs continue a run `attempts` times, and then only a call without input continues it', async () => {
  const { open } = startTabs();
  const tabs = { attempts: 1 };
  const [first, second, third] = [open({ tabs }), open({ tabs }), open({ tabs })];
  const leader = first.connect(cutOff);
  await leader.messages();
  const next = second.connect([[{ text: 'once more ' }, { gate: 'again' }]]);
  await next.messages();
  const answer = next.call('go');
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  await second.heard({ reached: 'again' });
  const last = third.connect(['by hand']);
  const watching = read(last.watch());
  await watching.until(says('more'));
  second.worker.terminate();
  await expect(answer).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  expect(await watching.until(ends)).toMatchObject({
    result: { reason: 'suspended', error: { code: 'WORKER_TERMINATED' } },
  });
  expect(third.told.filter((one) => 'reached' in one)).toEqual([]);
  expect((await last.call()).text).toBe('by hand');
});

test('the next leader does not continue an interrupted run, but a call without input does', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([[{ text: 'half of ', hang: true }]]);
  await leader.messages();
  const follower = second.connect(['the new answer']);
  const watching = read(follower.watch());
  await follower.messages();
  const own = read(leader.stream('go'));
  await own.until(says('of'));
  expect(await follower.interrupt('Stopped.')).toBe(true);
  await watching.until(ends);
  first.worker.terminate();
  expect((await follower.messages()).map(textOf)).toEqual(['go', 'half of ', 'Stopped.']);
  expect(await follower.chatTransport().reconnectToStream()).toBeNull();
  const resumed = read(follower.watch());
  const result = await follower.resume();
  await resumed.until(ends);
  expect([result.text, shown(resumed.events)]).toEqual(['the new answer', 'the new answer']);
  expect((await follower.messages()).map(textOf)).toEqual(['go', 'the new answer']);
  await expect(follower.resume()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('with attempts: 0, only a call without input continues a run', async () => {
  const { open } = startTabs();
  const tabs = { attempts: 0 };
  const [first, second] = [open({ tabs }), open({ tabs })];
  await first.connect(cutOff).messages();
  const follower = second.connect(['by hand']);
  const answer = follower.call('go');
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  expect(await answer).toMatchObject({ reason: 'suspended', error: { code: 'WORKER_TERMINATED' } });
  expect((await follower.call()).text).toBe('by hand');
});

test('a tab with the model key continues the run; if only a tab without the key is left, the run is suspended', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  const leader = first.connect(cutOff);
  await leader.messages();
  const keyless = second.connect([], { noKey: true });
  const answer = keyless.call('go');
  await first.heard({ reached: 'middle' });
  const keyed = third.connect([[{ text: 'with the key ' }, { gate: 'keyed' }]]);
  const watching = read(keyed.watch());
  await watching.until(says('of'));
  first.worker.terminate();
  await third.heard({ reached: 'keyed' });
  third.worker.terminate();
  expect(await answer).toMatchObject({
    reason: 'suspended',
    error: { code: 'CREDENTIALS_REQUIRED', message: 'Enter your key.' },
  });
  await expect(keyless.call()).rejects.toMatchObject({ code: 'CREDENTIALS_REQUIRED' });
});

test('a tab that loses the lead while it reads an interrupted run leaves the next leader’s run alone', async () => {
  let [onRead, open] = [(): void => {}, (): void => {}];
  const hasRead = new Promise<void>((resolve) => (onRead = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  class HeldMemory extends SessionMemory {
    override async view() {
      onRead();
      await opened;
      return super.view();
    }
  }
  const memory = new HeldMemory(new MemoryStore(), 's');
  await memory.note([{ kind: 'run-begin', runId: 'cut' }]);
  await memory.append([userMessage('go')]);
  const feed = new RunFeed();
  const model = new ScriptedModel([]);
  const runs = new SessionRuns({
    factory: () => new ReActAgent({ name: 'a', sessionId: 's', model, memory }),
    agentName: undefined,
    sessionId: 's',
    options: {},
    pages: new SessionPages(),
    previousClosed: undefined,
    isShared: true,
    takesOver: true,
    feed,
    outputs: {},
  });
  const takeover = new RunTakeover({
    runs,
    takesOver: true,
    tabs: tabSettings(undefined)!,
    feed,
    outputs: {},
    whenPagesKnown: () => Promise.resolve(),
  });
  await hasRead;
  await runs.stepDown();
  const start: AgentEvent = {
    type: 'run-start',
    runId: 'next',
    sessionId: 's',
    seq: 1,
    iteration: 0,
    agentPath: ['a'],
    at: 0,
  };
  feed.catchUp({ requestId: 'next', start: {}, items: [start] });
  open();
  await takeover.ready;
  expect(feed.activeRun?.requestId).toBe('next');
});
