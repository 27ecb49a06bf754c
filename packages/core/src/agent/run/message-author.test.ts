import { expect, test } from 'vitest';
import { assistantMessage, userMessage, type Msg } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';

const call = { type: 'tool_use', id: 'call', name: 'pay', input: {} } as const;
const idsIn = ({ content }: Msg): readonly string[] =>
  content.flatMap((block) => (block.type === 'tool_use' ? block.id : []));

test("messages have the agent's name, clock and ids, and user messages the origin `program`", () => {
  const { author, info } = liveRun({ now: () => 1000 }).live;
  expect(info.runId).toBe('id1');
  expect(author.createMessage('assistant', 'Hi.')).toMatchObject({
    id: 'id2',
    name: 'a',
    createdAt: '1970-01-01T00:00:01.000Z',
  });
  const question = author.createMessage('user', 'Hi.', { id: 'mine', metadata: { x: 1 } });
  expect(question).toMatchObject({ id: 'mine', metadata: { x: 1, origin: 'program' } });
  expect(question.name).toBeUndefined();
});

test('asReply() gives the name of the agent, but keeps that of another assistant', () => {
  const { author } = liveRun().live;
  const named = { ...assistantMessage('Hi.'), name: 'b' };
  expect(author.asReply(named)).toEqual(named);
  expect(author.asReply({ ...userMessage('Hi.'), name: 'Ann' })).toMatchObject({
    role: 'assistant',
    name: 'a',
  });
});

test('asNewReply() gives new ids only in place of those that the log has', async () => {
  const { live } = liveRun();
  const reply = { ...assistantMessage([call]), id: 'reply' };
  expect(live.author.asNewReply(reply)).toMatchObject({ id: 'reply', content: [call] });
  await openWith(live, reply);
  const copy = live.author.asNewReply(reply);
  expect(copy.id).not.toBe('reply');
  expect(idsIn(copy)).not.toContain('call');
});

test('asChanged() keeps the id and the tool calls of a stored message, and their order after the text', async () => {
  const { live } = liveRun();
  const original = { ...assistantMessage([call]), id: 'reply' };
  await openWith(live, original);
  const other = { ...call, id: 'other' };
  const text = { type: 'text', text: 'I pay.' } as const;
  const changed = live.author.asChanged({ ...assistantMessage([other, text]), id: 'x' }, original);
  expect(changed).toMatchObject({ id: 'reply', content: [text, call] });
});

test('asChanged() takes everything of a message whose original is not stored', () => {
  const { author } = liveRun().live;
  const changed = { ...assistantMessage([call]), id: 'x' };
  expect(author.asChanged(changed, assistantMessage('Hi.'))).toMatchObject({
    id: 'x',
    content: [call],
  });
});
