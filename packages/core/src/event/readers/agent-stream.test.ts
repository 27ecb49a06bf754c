import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';

test('events can be asked for one by one, and none comes after a reader has left', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['One two three.']) });
  const events = agent.stream('Hi')[Symbol.asyncIterator]();
  const first = await events.next();
  expect(first.value).toMatchObject({ type: 'run-start' });
  const types: string[] = [];
  for await (const { type } of events) {
    types.push(type);
    if (type === 'pre-reasoning') break;
  }
  expect(types).toEqual(['pre-call', 'pre-reasoning']);
  expect(await events.next()).toEqual({ done: true, value: undefined });
});

test('calls of next() at the same time get every event once', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['One two three.']) });
  const events = agent.stream('Hi')[Symbol.asyncIterator]();
  const given = await Promise.all(Array.from({ length: 12 }, () => events.next()));
  const seqs = given.flatMap(({ value }) => (value ? [value.seq] : []));
  expect(seqs.toSorted((one, other) => one - other)).toEqual(seqs.map((_, index) => index + 1));
  expect(seqs.length).toBeGreaterThan(5);
});
