import {
  assistantMessage,
  toolMessage,
  userMessage,
  type AgentEvent,
  type Msg,
} from '@isoloop/core';
import { expect, test } from 'vitest';
import { takeoverEvents } from './takeover-events.ts';

let seq = 0;
const event = (fields: object): AgentEvent =>
  ({
    runId: 'r',
    sessionId: 's',
    seq: ++seq,
    iteration: 1,
    agentPath: ['a'],
    at: 0,
    ...fields,
  }) as unknown as AgentEvent;
const begin = event({ type: 'pre-reasoning', messages: [], tools: [], options: {} });
const chunk = event({ type: 'reasoning-chunk', blockId: 'm1:0', kind: 'text', delta: 'Hal' });
const asked = userMessage('go');
const answer = assistantMessage('Half of it.', { id: 'm1' });
const toolUse = { type: 'tool_use', id: 't1', name: 'note', input: {} } as const;
const call: Msg = { ...assistantMessage([toolUse]), id: 'm1' };
const result = {
  type: 'tool_result',
  toolUseId: 't1',
  name: 'note',
  output: [{ type: 'text', text: 'noted' }],
  state: 'success',
} as const;

test('takeoverEvents() resets a step whose message is not in the log', () => {
  expect(takeoverEvents([begin, chunk], [asked])).toMatchObject([
    { type: 'step-reset', reason: 'takeover', runId: 'r' },
  ]);
  const told = event({ type: 'post-reasoning', message: answer });
  expect(takeoverEvents([begin, chunk, told], [asked])).toMatchObject([{ type: 'step-reset' }]);
  expect(takeoverEvents([begin, chunk, told], [asked, answer])).toEqual([]);
});

test('takeoverEvents() replaces a partial message by the whole message in the log', () => {
  expect(takeoverEvents([begin, chunk], [asked, answer])).toMatchObject([
    { type: 'step-reset', replacement: answer },
    { type: 'post-reasoning', message: answer },
  ]);
});

test('takeoverEvents() does not use the answer to an earlier question as replacement', () => {
  const [reset] = takeoverEvents([begin, chunk], [answer, asked]);
  expect(reset).toMatchObject({ type: 'step-reset' });
  expect(reset).not.toHaveProperty('replacement');
});

test('takeoverEvents() adds unseen tool results, with higher sequence numbers than all seen events', () => {
  const told = event({ type: 'post-reasoning', message: call });
  const missing = takeoverEvents([begin, told], [asked, call, toolMessage(result)]);
  expect(missing).toMatchObject([{ type: 'post-acting', toolUse, result }]);
  expect(missing[0]!.seq).toBeGreaterThan(told.seq);
  const done = event({ type: 'post-acting', toolUse, result });
  expect(takeoverEvents([begin, told, done], [asked, call, toolMessage(result)])).toEqual([]);
});

test('takeoverEvents() returns no events if readers have seen none', () => {
  expect(takeoverEvents([], [asked, answer])).toEqual([]);
});
