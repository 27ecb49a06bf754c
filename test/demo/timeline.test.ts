import { expect, test } from 'vitest';
import {
  toTimelineEntry,
  withEnds,
  type TimelineItem,
} from '../../demo/src/page/timeline-entry.ts';

const base = { runId: 'r', seq: 1, iteration: 1, at: 0, agentPath: ['a'] } as const;

test('the timeline says which tool calls wait for a person', () => {
  const call = { toolUseId: 'c', name: 'pay', kind: 'approval' };
  const { label, detail } = toTimelineEntry({ ...base, type: 'suspended', pending: [call] })!;
  expect([label, detail]).toEqual(['Waits for you', 'pay']);
  expect(toTimelineEntry({ ...base, type: 'suspended', pending: [] })).toBeUndefined();
});

test('a run that another tab takes over has no end in the timeline, unlike a stopped run', () => {
  const started: TimelineItem = { ...base, type: 'run-start' };
  const reset: TimelineItem = { ...base, seq: 2, type: 'step-reset', reason: 'takeover' };
  const next: TimelineItem = { ...base, runId: 's', type: 'pre-reasoning' };
  const types = (...events: readonly TimelineItem[]) =>
    withEnds(events, false).map(({ type }) => type);
  expect(types(started, reset, next)).toEqual(['run-start', 'step-reset', 'pre-reasoning']);
  expect(types(started, next)).toEqual(['run-start', 'run-end', 'pre-reasoning']);
});
