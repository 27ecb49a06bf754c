import { expect, test } from 'vitest';
import type { ToolSchema } from '../model/chat-model.ts';
import { byWords } from './by-words.ts';

const schemas: readonly ToolSchema[] = [
  ['mail_send', 'Sends a message'],
  ['mail_list', 'Lists what came in'],
  ['clock', 'Tells the time'],
  ['날씨', '날씨를 알려 준다'],
].map(([name, description]) => ({ name: name!, description: description!, parameters: {} }));
const context = { signal: new AbortController().signal };
const chosen = (question: string, options?: Parameters<typeof byWords>[0]): unknown =>
  byWords(options)(question, schemas, context);
const all = schemas.map(({ name }) => name);

test('byWords() selects all tools if there are few, unless `evenWhenFew` is true', async () => {
  expect(await chosen('What time is it?')).toEqual(all);
  expect(await chosen('What time is it?', { maxTools: 4 })).toEqual(all);
  expect(await chosen('What time is it?', { evenWhenFew: true })).toEqual(['clock']);
});

test('returns the best tools, at most `maxTools`, and a match in a name counts more than one in a description', async () => {
  expect(await chosen('send mail', { maxTools: 3 })).toEqual(['mail_send', 'mail_list']);
  expect(await chosen('list mail', { maxTools: 1 })).toEqual(['mail_list']);
  expect(await chosen('서울의 날씨는?', { maxTools: 1 })).toEqual(['날씨']);
});

test('returns all tools if no word matches', async () => {
  expect(await chosen('Hm?', { maxTools: 1 })).toEqual(all);
  expect(await chosen('', { evenWhenFew: true })).toEqual(all);
});

test('uses only the start and the end of a long question', async () => {
  const filler = '안녕하세요 '.repeat(100_000);
  expect(await chosen(`${filler} mail ${filler}`, { maxTools: 1 })).toEqual(all);
  expect(await chosen(`time ${filler}`, { maxTools: 1 })).toEqual(['clock']);
  expect(await chosen(`${filler} time`, { maxTools: 1 })).toEqual(['clock']);
});

test('also matches the names and descriptions of parameters', async () => {
  const parameters = {
    type: 'object',
    properties: { currency: { type: 'string', description: 'Yen or euro' }, odd: true },
  };
  const tools = [...schemas, { name: 'rates', description: '', parameters }];
  expect(await byWords({ maxTools: 2 })('how many euros', tools, context)).toEqual(['rates']);
  expect(await byWords({ maxTools: 2 })('which currency', tools, context)).toEqual(['rates']);
});

test.each([{ maxTools: 'two' }, { maxTools: 1.5 }, { evenWhenFew: 1 }, null])(
  'byWords() rejects the options %o',
  (options) => {
    expect(() => byWords(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);
