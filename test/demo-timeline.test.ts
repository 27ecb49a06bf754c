import { expect, test } from 'vitest';
import { toTimelineEntry } from '../demo/src/page/timeline-entry.ts';

const base = { runId: 'r', seq: 1, iteration: 1, at: 0, agentPath: ['a'] } as const;

test('the timeline says which tool calls wait for a person', () => {
  const call = { toolUseId: 'c', name: 'pay', kind: 'approval' };
  const { label, detail } = toTimelineEntry({ ...base, type: 'suspended', pending: [call] })!;
  expect([label, detail]).toEqual(['Waits for you', 'pay']);
  expect(toTimelineEntry({ ...base, type: 'suspended', pending: [] })).toBeUndefined();
});
