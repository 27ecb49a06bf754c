import { expect, test, vi } from 'vitest';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { assistantMessage, textOf, userMessage, type Msg } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';

const texts = (messages: readonly Msg[]): readonly string[] => messages.map((one) => textOf(one));
const sessionMemory = (): SessionMemory => new SessionMemory(new MemoryStore(), 's');

test('the conversation is empty until open() has read the memory', async () => {
  const { run } = liveRun({ memory: new InMemoryMemory([userMessage('Why?')]) });
  expect(run.log.isOpen).toBe(false);
  expect(run.log.messages).toEqual([]);
  await run.log.open();
  expect(run.log.isOpen).toBe(true);
  expect(texts(run.log.messages)).toEqual(['Why?']);
});

test('begin() writes that the run has begun, together with the notes', async () => {
  const { run } = liveRun({ memory: sessionMemory() });
  await openWith(run, assistantMessage([{ type: 'tool_use', id: 'c', name: 'pay', input: {} }]));
  run.status.openRunId = undefined;
  expect(run.log.hasBegun).toBe(false);
  const decision = { toolUseId: 'c', type: 'approve' } as const;
  const note = vi.spyOn(run.setup.log!, 'note');
  await run.log.begin([{ kind: 'decision', decision }], { write: true });
  expect(note).toHaveBeenCalledExactlyOnceWith(
    [
      { kind: 'run-begin', runId: run.runId },
      { kind: 'decision', decision },
    ],
    { write: true },
  );
  expect(run.log.hasBegun).toBe(true);
  expect(run.calls.stateOf({ type: 'tool_use', id: 'c', name: 'pay', input: {} })).toMatchObject({
    decision,
  });
});

test('restore() reads the log once, also while it reads', async () => {
  const memory = sessionMemory();
  const restore = vi.spyOn(memory, 'restore');
  const { log } = liveRun({ memory }).run;
  await Promise.all([log.restore(), log.restore()]);
  await log.open();
  expect(restore).toHaveBeenCalledOnce();
});

test('append() marks where a turn begins, in the memory and in the conversation', async () => {
  const { run } = liveRun();
  await openWith(run, userMessage('Why?'), assistantMessage('So.'));
  const stored = await run.setup.memory.read();
  for (const messages of [stored, run.log.messages]) {
    expect(messages[0]!.metadata).toMatchObject({ runId: run.runId });
    expect(messages[1]!.metadata).toBeUndefined();
  }
  expect(run.log.lastReply).toBe(run.log.messages[1]);
});

test('edit() replaces, then removes and appends in one write', async () => {
  const memory = sessionMemory();
  const { run } = liveRun({ memory });
  const [one, two] = [assistantMessage('one'), assistantMessage('two')];
  await openWith(run, one, two);
  const rewrite = vi.spyOn(memory, 'rewrite');
  const changed = { ...two, content: [{ type: 'text', text: 'changed' }] } as Msg;
  await run.log.edit({ remove: [one.id], replace: [changed], append: [assistantMessage('new')] });
  expect(texts(run.log.messages)).toEqual(['changed', 'new']);
  expect(texts(await memory.read())).toEqual(['changed', 'new']);
  expect(rewrite).toHaveBeenCalledOnce();
});

test('a failed write changes nothing in the conversation, and reload() takes what the memory has', async () => {
  const memory = new InMemoryMemory();
  const { run } = liveRun({ memory });
  await run.log.open();
  const append = memory.append.bind(memory);
  memory.append = async (messages) => {
    await append(messages);
    throw new Error('full');
  };
  await expect(run.log.append([userMessage('Why?')])).rejects.toThrow('full');
  expect(run.log.messages).toEqual([]);
  await run.log.reload();
  expect(texts(run.log.messages)).toEqual(['Why?']);
});

test('writeEnd() writes once, after the work before the end, also if several others call it', async () => {
  const memory = sessionMemory();
  const { run } = liveRun({ memory });
  await run.log.open();
  const order: string[] = [];
  run.log.beforeEnd.push(async () => void order.push('work'));
  const flush = vi.spyOn(memory, 'flush').mockImplementation(async () => void order.push('flush'));
  await run.log.writeEnd('stop');
  await run.log.writeEnd('stop');
  expect(order).toEqual(['work', 'flush']);
  expect(flush).toHaveBeenCalledWith(expect.objectContaining({ runId: run.runId, reason: 'stop' }));
});

test('writeEnd() does all work before the end, and rejects with the first error, before the write', async () => {
  const memory = sessionMemory();
  const { run } = liveRun({ memory });
  await run.log.open();
  const flush = vi.spyOn(memory, 'flush');
  const last = vi.fn(async () => {});
  const [one, two] = [new Error('one'), new Error('two')];
  run.log.beforeEnd.push(
    () => Promise.reject(one),
    () => Promise.reject(two),
    last,
  );
  await expect(run.log.writeEnd('stop')).rejects.toBe(one);
  expect(last).toHaveBeenCalledOnce();
  expect(flush).not.toHaveBeenCalled();
  await run.log.writeEnd('error');
  expect(flush).toHaveBeenCalledOnce();
});

test('writeEnd() of a run that has failed rejects with its failure, except for the reason `error`', async () => {
  const { run } = liveRun();
  run.ending.fail(new Error('broken'));
  await expect(run.log.writeEnd('stop')).rejects.toThrow('broken');
  await run.log.writeEnd('error');
});

test('the state is that of the session, and a copy only for code that a run has left behind', async () => {
  const { run, status } = liveRun();
  run.log.state['x'] = 1;
  expect(status.state).toEqual({ x: 1 });
  run.end();
  run.log.state['x'] = 2;
  expect(status.state).toEqual({ x: 2 });
  run.waits.abandoned = true;
  run.log.state['x'] = 3;
  expect(run.log.state).toEqual({ x: 3 });
  expect(status.state).toEqual({ x: 2 });
});

test('replySlot() is that of the memory after the last message, and nothing without replies', async () => {
  expect(liveRun().run.log.replySlot()).toBeUndefined();
  const { run } = liveRun({ memory: sessionMemory() });
  const question = userMessage('Why?');
  await openWith(run, question);
  const slotAfter = vi.fn();
  vi.spyOn(run.setup.log!, 'replies', 'get').mockReturnValue({ slotAfter });
  run.log.replySlot();
  expect(slotAfter).toHaveBeenCalledWith(question.id, run.waits);
});
