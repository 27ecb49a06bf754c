import { expect, test, vi } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { assistantMessage, textOf, userMessage, type Msg } from '../../message/msg.ts';
import type { Decision } from '../../event/pending-call.ts';
import { liveRun } from '@test/support/live-run.ts';
import { admitInput, settle, type RunInput } from './settle.ts';

const call = { type: 'tool_use', id: 'c', name: 'pay', input: {} } as const;
const approve: Decision = { toolUseId: 'c', type: 'approve' };

function input(messages: readonly Msg[], decisions: readonly Decision[] = []): RunInput {
  return { sent: { messages, decisions } };
}

test('a message is stored, is the question, and the model comes next', async () => {
  const { live, types } = liveRun();
  const question = userMessage('Why?');
  expect(await settle(live, input([question]))).toEqual({ to: 'model' });
  expect(live.log.questionId).toBe(question.id);
  expect(live.log.messages.map((message) => textOf(message))).toEqual(['Why?']);
  expect(live.log.hasBegun).toBe(true);
  expect(types()).toEqual(['pre-call']);
});

test('what the wrappers of input admit is stored, and an input that was admitted early is admitted once', async () => {
  const wrapInput = vi.fn(async () => ({ messages: [userMessage('Kind?')], decisions: [] }));
  const { live } = liveRun({ use: [{ wrapInput }] });
  const sent = input([userMessage('Rude?')]);
  const admitted = admitInput(live.wrappers, sent.sent);
  await settle(live, { ...sent, admitted });
  expect(live.log.messages.map((message) => textOf(message))).toEqual(['Kind?']);
  expect(wrapInput).toHaveBeenCalledOnce();
});

test('a decision is noted, and its call runs next', async () => {
  const memory = new InMemoryMemory([assistantMessage([call])]);
  const { live } = liveRun({ memory });
  expect(await settle(live, input([], [approve]))).toEqual({ to: 'tools' });
  expect(live.calls.stateOf(call)).toMatchObject({ decision: approve });
});

test('a new message is refused while a tool call is open, and nothing is stored', async () => {
  const memory = new InMemoryMemory([assistantMessage([call])]);
  const { live } = liveRun({ memory });
  await expect(settle(live, input([userMessage('And?')]))).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
    details: { ids: ['c'] },
  });
  expect(await memory.read()).toHaveLength(1);
  expect(live.log.hasBegun).toBe(false);
});

test('without input, a run continues what is open, and fails if there is nothing', async () => {
  const memory = new InMemoryMemory([assistantMessage([call])]);
  expect(await settle(liveRun({ memory }).live, input([]))).toEqual({ to: 'tools' });
  const question = new InMemoryMemory([userMessage('Why?')]);
  expect(await settle(liveRun({ memory: question }).live, input([]))).toEqual({ to: 'model' });
  await expect(settle(liveRun().live, input([]))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('without input, a stored answer whose run has not ended goes to the readers again', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const answer = assistantMessage('So.', { name: 'a' });
  await memory.append([userMessage('Why?'), answer]);
  await memory.note([{ kind: 'run-begin', runId: 'earlier' }], { write: true });
  const { live, types } = liveRun({ memory });
  expect(await settle(live, input([]))).toMatchObject({
    kind: 'stored',
    message: { id: answer.id },
  });
  expect(types()).toEqual(['pre-call', 'step-reset', 'reasoning-chunk']);
});

test('a pre-call hook changes the input, unless hooks are only notified', async () => {
  const use = [
    {
      on: { 'pre-call': (event: object) => ({ ...event, input: [userMessage('Kind?')] }) as never },
    },
  ];
  const { live } = liveRun({ use });
  await settle(live, input([userMessage('Rude?')]));
  expect(textOf(live.log.messages[0]!)).toBe('Kind?');
  const notified = liveRun({ use, preCallHooks: 'notify' }).live;
  await settle(notified, input([userMessage('Rude?')]));
  expect(textOf(notified.log.messages[0]!)).toBe('Rude?');
});

test('a rejection by a pre-call hook stores nothing', async () => {
  const { live } = liveRun({ use: [{ on: { 'pre-call': (event) => event.reject('No.') } }] });
  await expect(settle(live, input([userMessage('Why?')]))).rejects.toMatchObject({
    code: 'HOOK_REJECTED',
  });
  expect(await live.setup.memory.read()).toEqual([]);
});

test('a jump of a pre-call hook is carried out after the input is stored', async () => {
  const { live } = liveRun({ use: [{ on: { 'pre-call': (event) => event.stop() } }] });
  expect(await settle(live, input([userMessage('Why?')]))).toMatchObject({
    kind: 'unanswered',
    stoppedAt: 'pre-call',
  });
  expect(live.log.messages).toHaveLength(1);
});

test('a run that failed before its turn reads nothing', async () => {
  const { live } = liveRun();
  live.halt.haltWith(new AgentError('AGENT_BUSY', 'Busy.'));
  const read = vi.spyOn(live.setup.memory, 'read');
  await expect(settle(live, input([userMessage('Why?')]))).rejects.toMatchObject({
    code: 'AGENT_BUSY',
  });
  expect(read).not.toHaveBeenCalled();
});
