import { expect, test, vi } from 'vitest';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { assistantMessage, textOf, userMessage, type Msg } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';

const texts = (messages: readonly Msg[]): readonly string[] => messages.map((one) => textOf(one));
const sessionMemory = (): SessionMemory => new SessionMemory(new MemoryStore(), 's');

test('the conversation is empty until open() has read the memory', async () => {
  const { live } = liveRun({ memory: new InMemoryMemory([userMessage('Why?')]) });
  expect(live.log.isOpen).toBe(false);
  expect(live.log.messages).toEqual([]);
  await live.log.open();
  expect(live.log.isOpen).toBe(true);
  expect(texts(live.log.messages)).toEqual(['Why?']);
});

test('begin() writes that the run has begun, together with the notes', async () => {
  const { live } = liveRun({ memory: sessionMemory() });
  await openWith(live, assistantMessage([{ type: 'tool_use', id: 'c', name: 'pay', input: {} }]));
  live.status.openRunId = undefined;
  expect(live.log.hasBegun).toBe(false);
  const decision = { toolUseId: 'c', type: 'approve' } as const;
  const note = vi.spyOn(live.setup.log!, 'note');
  await live.log.begin([{ kind: 'decision', decision }], { write: true });
  expect(note).toHaveBeenCalledExactlyOnceWith(
    [
      { kind: 'run-begin', runId: live.info.runId },
      { kind: 'decision', decision },
    ],
    { write: true },
  );
  expect(live.log.hasBegun).toBe(true);
  expect(live.calls.stateOf({ type: 'tool_use', id: 'c', name: 'pay', input: {} })).toMatchObject({
    decision,
  });
});

test('restore() reads the log once, also while it reads', async () => {
  const memory = sessionMemory();
  const restore = vi.spyOn(memory, 'restore');
  const { log } = liveRun({ memory }).live;
  await Promise.all([log.restore(), log.restore()]);
  await log.open();
  expect(restore).toHaveBeenCalledOnce();
});

test('append() marks where a turn begins, in the memory and in the conversation', async () => {
  const { live } = liveRun();
  await openWith(live, userMessage('Why?'), assistantMessage('So.'));
  const stored = await live.setup.memory.read();
  for (const messages of [stored, live.log.messages]) {
    expect(messages[0]!.metadata).toMatchObject({ runId: live.info.runId });
    expect(messages[1]!.metadata).toBeUndefined();
  }
  expect(live.log.lastReply).toBe(live.log.messages[1]);
});

test('edit() replaces, then removes and appends in one write', async () => {
  const memory = sessionMemory();
  const { live } = liveRun({ memory });
  const [one, two] = [assistantMessage('one'), assistantMessage('two')];
  await openWith(live, one, two);
  const rewrite = vi.spyOn(memory, 'rewrite');
  const changed = { ...two, content: [{ type: 'text', text: 'changed' }] } as Msg;
  await live.log.edit({ remove: [one.id], replace: [changed], append: [assistantMessage('new')] });
  expect(texts(live.log.messages)).toEqual(['changed', 'new']);
  expect(texts(await memory.read())).toEqual(['changed', 'new']);
  expect(rewrite).toHaveBeenCalledOnce();
});

test('a failed write changes nothing in the conversation, and reload() takes what the memory has', async () => {
  const memory = new InMemoryMemory();
  const { live } = liveRun({ memory });
  await live.log.open();
  const append = memory.append.bind(memory);
  memory.append = async (messages) => {
    await append(messages);
    throw new Error('full');
  };
  await expect(live.log.append([userMessage('Why?')])).rejects.toThrow('full');
  expect(live.log.messages).toEqual([]);
  await live.log.reload();
  expect(texts(live.log.messages)).toEqual(['Why?']);
});

test('writeEnd() writes once, after the work before the end, also if several others call it', async () => {
  const memory = sessionMemory();
  const { live } = liveRun({ memory });
  await live.log.open();
  const order: string[] = [];
  live.log.beforeEnd.push(async () => void order.push('work'));
  const flush = vi.spyOn(memory, 'flush').mockImplementation(async () => void order.push('flush'));
  await live.log.writeEnd('stop');
  await live.log.writeEnd('stop');
  expect(order).toEqual(['work', 'flush']);
  expect(flush).toHaveBeenCalledWith(
    expect.objectContaining({ runId: live.info.runId, reason: 'stop' }),
  );
});

test('writeEnd() does all work before the end, and rejects with the first error, before the write', async () => {
  const memory = sessionMemory();
  const { live } = liveRun({ memory });
  await live.log.open();
  const flush = vi.spyOn(memory, 'flush');
  const last = vi.fn(async () => {});
  const [one, two] = [new Error('one'), new Error('two')];
  live.log.beforeEnd.push(
    () => Promise.reject(one),
    () => Promise.reject(two),
    last,
  );
  await expect(live.log.writeEnd('stop')).rejects.toBe(one);
  expect(last).toHaveBeenCalledOnce();
  expect(flush).not.toHaveBeenCalled();
  await live.log.writeEnd('error');
  expect(flush).toHaveBeenCalledOnce();
});

test('writeEnd() of a run that has failed rejects with its failure, except for the reason `error`', async () => {
  const { live } = liveRun();
  live.halt.fail(new Error('broken'));
  await expect(live.log.writeEnd('stop')).rejects.toThrow('broken');
  await live.log.writeEnd('error');
});

test('the state is that of the session, and a copy only for code that a run has left behind', async () => {
  const { live, status } = liveRun();
  live.log.state['x'] = 1;
  expect(status.state).toEqual({ x: 1 });
  live.end();
  live.log.state['x'] = 2;
  expect(status.state).toEqual({ x: 2 });
  live.waits.abandoned = true;
  live.log.state['x'] = 3;
  expect(live.log.state).toEqual({ x: 3 });
  expect(status.state).toEqual({ x: 2 });
});

test('replySlot() is that of the memory after the last message, and nothing without replies', async () => {
  expect(liveRun().live.log.replySlot()).toBeUndefined();
  const { live } = liveRun({ memory: sessionMemory() });
  const question = userMessage('Why?');
  await openWith(live, question);
  const slotAfter = vi.fn();
  vi.spyOn(live.setup.log!, 'replies', 'get').mockReturnValue({ slotAfter });
  live.log.replySlot();
  expect(slotAfter).toHaveBeenCalledWith(question.id, live.waits);
});
