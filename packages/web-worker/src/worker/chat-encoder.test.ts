import type { AgentEvent } from '@isoloop/core';
import { expect, test } from 'vitest';
import { ChatEncoder } from './chat-encoder.ts';

const base = { runId: 'r', sessionId: 's', agentPath: ['a'], at: 0 } as const;
const runStart: AgentEvent = { ...base, seq: 1, iteration: 0, type: 'run-start' };
const reasoning: AgentEvent = {
  ...base,
  seq: 2,
  iteration: 1,
  type: 'pre-reasoning',
  messages: [],
  tools: [],
  options: {},
};

test('the replay of a run that continues an answer begins at once, while its open tool calls still run', () => {
  const encoder = new ChatEncoder({ events: true, typed: false, isReplay: true });
  encoder.begin({ continues: true });
  const chunks = encoder.encode([runStart]);
  expect(chunks.map(({ type }) => type)).toContain('start');
  expect(chunks).toContainEqual(
    expect.objectContaining({ data: expect.objectContaining({ continues: true }) }),
  );
});

test('the replay of a new run begins when the log has the question', () => {
  const encoder = new ChatEncoder({ events: true, typed: false, isReplay: true });
  encoder.begin({});
  expect(encoder.encode([runStart])).toEqual([]);
  expect(encoder.encode([reasoning]).map(({ type }) => type)).toContain('start');
});
