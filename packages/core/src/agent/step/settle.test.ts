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
  const { run, types } = liveRun();
  const question = userMessage('Why?');
  expect(await settle(run, input([question]))).toEqual({ to: 'model' });
  expect(run.log.questionId).toBe(question.id);
  expect(run.log.messages.map((message) => textOf(message))).toEqual(['Why?']);
  expect(run.log.hasBegun).toBe(true);
  expect(types()).toEqual(['pre-call']);
});

test('what the wrappers of input admit is stored, and an input that was admitted early is admitted once', async () => {
  const wrapInput = vi.fn(async () => ({ messages: [userMessage('Kind?')], decisions: [] }));
  const { run } = liveRun({ use: [{ wrapInput }] });
  const sent = input([userMessage('Rude?')]);
  const admitted = admitInput(run, sent.sent);
  await settle(run, { ...sent, admitted });
  expect(run.log.messages.map((message) => textOf(message))).toEqual(['Kind?']);
  expect(wrapInput).toHaveBeenCalledOnce();
});

test('a decision is noted, and its call runs next', async () => {
  const memory = new InMemoryMemory([assistantMessage([call])]);
  const { run } = liveRun({ memory });
  expect(await settle(run, input([], [approve]))).toEqual({ to: 'tools' });
  expect(run.calls.stateOf(call)).toMatchObject({ decision: approve });
});

test('a new message is refused while a tool call is open, and nothing is stored', async () => {
  const memory = new InMemoryMemory([assistantMessage([call])]);
  const { run } = liveRun({ memory });
  await expect(settle(run, input([userMessage('And?')]))).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
    details: { ids: ['c'] },
  });
  expect(await memory.read()).toHaveLength(1);
  expect(run.log.hasBegun).toBe(false);
});

test('without input, a run continues what is open, and fails if there is nothing', async () => {
  const memory = new InMemoryMemory([assistantMessage([call])]);
  expect(await settle(liveRun({ memory }).run, input([]))).toEqual({ to: 'tools' });
  const question = new InMemoryMemory([userMessage('Why?')]);
  expect(await settle(liveRun({ memory: question }).run, input([]))).toEqual({ to: 'model' });
  await expect(settle(liveRun().run, input([]))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('without input, a stored answer whose run has not ended goes to the readers again', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const answer = assistantMessage('So.', { name: 'a' });
  await memory.append([userMessage('Why?'), answer]);
  await memory.note([{ kind: 'run-begin', runId: 'earlier' }], { write: true });
  const { run, types } = liveRun({ memory });
  expect(await settle(run, input([]))).toMatchObject({
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
  const { run } = liveRun({ use });
  await settle(run, input([userMessage('Rude?')]));
  expect(textOf(run.log.messages[0]!)).toBe('Kind?');
  const notified = liveRun({ use, preCallHooks: 'notify' }).run;
  await settle(notified, input([userMessage('Rude?')]));
  expect(textOf(notified.log.messages[0]!)).toBe('Rude?');
});

test('a rejection by a pre-call hook stores nothing', async () => {
  const { run } = liveRun({ use: [{ on: { 'pre-call': (event) => event.reject('No.') } }] });
  await expect(settle(run, input([userMessage('Why?')]))).rejects.toMatchObject({
    code: 'HOOK_REJECTED',
  });
  expect(await run.setup.memory.read()).toEqual([]);
});

test('a jump of a pre-call hook is carried out after the input is stored', async () => {
  const { run } = liveRun({ use: [{ on: { 'pre-call': (event) => event.stop() } }] });
  expect(await settle(run, input([userMessage('Why?')]))).toMatchObject({
    kind: 'unanswered',
    stoppedAt: 'pre-call',
  });
  expect(run.log.messages).toHaveLength(1);
});

test('a run that failed before its turn reads nothing', async () => {
  const { run } = liveRun();
  run.ending.haltWith(new AgentError('AGENT_BUSY', 'Busy.'));
  const read = vi.spyOn(run.setup.memory, 'read');
  await expect(settle(run, input([userMessage('Why?')]))).rejects.toMatchObject({
    code: 'AGENT_BUSY',
  });
  expect(read).not.toHaveBeenCalled();
});
