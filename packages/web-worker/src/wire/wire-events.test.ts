import type { AgentEvent } from '@isoloop/core';
import { expect, test } from 'vitest';
import { packEvents, unpackEvents } from './wire-events.ts';

const about = { runId: 'r', sessionId: 's', agentPath: ['a'], iteration: 1, at: 1_000 };

function text(seq: number, delta: string, more: object = {}): AgentEvent {
  return {
    ...about,
    type: 'reasoning-chunk',
    kind: 'text',
    blockId: 'b1',
    seq,
    delta,
    ...more,
  } as AgentEvent;
}

function input(seq: number, delta: string, toolUseId = 't1'): AgentEvent {
  return { ...about, type: 'tool-input-chunk', toolUseId, name: 'add', seq, delta };
}

test('packEvents() joins consecutive deltas of one block into one item, and unpackEvents() restores them', () => {
  const events = [
    text(1, 'a'),
    text(2, 'b'),
    text(3, ''),
    text(4, '東'),
    input(5, '{'),
    input(6, '}'),
  ];
  const packed = packEvents(events);
  expect(packed).toHaveLength(2);
  expect(unpackEvents(structuredClone(packed))).toEqual(events);
});

test.for<readonly [string, AgentEvent]>([
  ['another block', text(2, 'b', { blockId: 'b2' })],
  ['another type', { ...about, type: 'summary-chunk', blockId: 'b1', seq: 2, delta: 'b' }],
  ['another time', text(2, 'b', { at: 1_001 })],
  ['another iteration', text(2, 'b', { iteration: 2 })],
  ['a gap', text(3, 'b')],
  ['a tool', input(2, '{')],
])('packEvents() starts a new item for %s', ([, event]) => {
  const events = [text(1, 'a'), event];
  const packed = packEvents(events);
  expect(packed).toHaveLength(2);
  expect(unpackEvents(packed)).toEqual(events);
});

test('packEvents() keeps the inputs of two tools apart, and keeps the order of deltas and other events', () => {
  const end: AgentEvent = { ...about, type: 'run-start', seq: 3 };
  const events = [input(1, '{', 't1'), input(2, '{', 't2'), end, input(4, '}', 't2'), text(5, 'x')];
  expect(unpackEvents(packEvents(events))).toEqual(events);
});
