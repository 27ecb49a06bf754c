import type { AgentEvent } from '@isoloop/core';
import { expect, test } from 'vitest';
import { ActiveRun } from './active-run.ts';

const base = {
  runId: 'r',
  sessionId: 's',
  iteration: 1,
  agentPath: ['a'],
  at: 0,
} as const;

const start: AgentEvent = { ...base, seq: 1, type: 'run-start' };

const progress = (seq: number, chunk: string): AgentEvent => ({
  ...base,
  seq,
  type: 'acting-chunk',
  toolUseId: 'c1',
  chunk,
});

const delta = (seq: number, text: string): AgentEvent => ({
  ...base,
  seq,
  type: 'reasoning-chunk',
  kind: 'text',
  blockId: 'b',
  delta: text,
});

/** Creates the copy of a run with these events after its start. */
function mirrorOf(events: readonly AgentEvent[]): ActiveRun {
  const mirror = new ActiveRun('w');
  mirror.add([start]);
  for (const event of events) mirror.add([event]);
  return mirror;
}

const sizeOf = (mirror: ActiveRun): number => JSON.stringify(mirror.events).length;
const tenThousand = 'x'.repeat(10_000);
const report = (count: number): readonly AgentEvent[] =>
  Array.from({ length: count }, (_, index) => progress(index + 2, `${index} ${tenThousand}`));

test('the copy of a run keeps only the newest progress of a tool that reports endlessly', () => {
  const mirror = mirrorOf(report(4_000));
  expect(sizeOf(mirror)).toBeLessThan(9_000_000);
  expect(mirror.events[0]).toEqual(start);
  expect(mirror.lastEvent).toMatchObject({ seq: 4_001, chunk: expect.stringContaining('3999 ') });
});

test('the copy of a run has a limited number of events if the deltas are small', () => {
  const message = { id: 'm', role: 'assistant', content: [], createdAt: '' } as const;
  const mirror = mirrorOf([]);
  let longest = 0;
  for (let iteration = 1; iteration <= 200; iteration += 1) {
    const seq = iteration * 1_000;
    const deltas = Array.from({ length: 999 }, (_, index) => delta(seq + index, 'x'));
    mirror.add(deltas.map((event) => ({ ...event, iteration })));
    longest = Math.max(longest, mirror.events.length);
    mirror.add([{ ...base, iteration, seq: seq + 999, type: 'post-reasoning', message }]);
  }
  expect(longest).toBeLessThan(100_000);
});

test('the copy of a run keeps only a part of the messages that many requests contained', () => {
  const message = { id: 'm', role: 'user', content: [], createdAt: '' } as const;
  const requests = Array.from({ length: 3_000 }, (_, index): readonly AgentEvent[] => [
    {
      ...base,
      iteration: index,
      seq: 2 * index + 2,
      type: 'pre-reasoning',
      messages: Array.from({ length: 1_000 }, () => message),
      tools: [],
      options: {},
    },
    { ...base, iteration: index, seq: 2 * index + 3, type: 'post-reasoning', message },
  ]).flat();
  const { events } = mirrorOf(requests);
  expect(events).toHaveLength(requests.length + 1);
  const kept = events.map((event) => (event.type === 'pre-reasoning' ? event.messages.length : 0));
  expect(kept.reduce((sum, count) => sum + count)).toBeLessThan(1_100_000);
});

test('a tab catches up with a leader that has dropped old progress, and shows no event twice', () => {
  const events = report(1_000);
  const [leader, follower] = [mirrorOf(events), mirrorOf(events.slice(0, 300))];
  expect(leader.events.length).toBeLessThan(1_001);
  expect(follower.events).toHaveLength(301);
  const answer = [delta(1_002, 'and '), delta(1_003, 'so on')];
  leader.add(answer);
  const shown = follower.catchUp(leader.state);
  expect(shown.every(({ seq }) => seq > 301)).toBe(true);
  expect(shown.slice(-2)).toEqual(answer);
  expect(follower.events).toEqual(leader.events);
  expect(follower.catchUp(leader.state)).toEqual([]);
});

test('a tab catches up with a leader that has all progress that the tab has dropped', () => {
  const events = report(1_000);
  const follower = mirrorOf(events);
  const leader = new ActiveRun('w');
  leader.add([start, ...events.slice(-2), delta(1_002, 'done')]);
  expect(follower.catchUp(leader.state)).toEqual([delta(1_002, 'done')]);
});
