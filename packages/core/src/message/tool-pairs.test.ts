import { expect, test } from 'vitest';
import { forModel, inRequestOrder, openCalls } from './tool-pairs.ts';
import { assistantMessage, toolMessage, userMessage } from './create-message.ts';
import type { Msg } from './msg.ts';

const asks = (id: string, ...toolUseIds: string[]): Msg =>
  assistantMessage(
    toolUseIds.map((toolUseId) => ({ type: 'tool_use', id: toolUseId, name: 't', input: {} })),
    { id },
  );
const gives = (toolUseId: string, id = `r-${toolUseId}`): Msg =>
  toolMessage({ type: 'tool_result', toolUseId, name: 't', output: '', state: 'success' }, { id });
const says = (id: string): Msg => userMessage(id, { id });
const ids = (messages: readonly Msg[]): string[] => messages.map(({ id }) => id);

test('puts results behind their call, in the order of the call', () => {
  const log = [says('u'), asks('a', '1', '2'), gives('2'), gives('1'), says('v')];
  expect(ids(inRequestOrder(log))).toEqual(['u', 'a', 'r-1', 'r-2', 'v']);
});

test('moves a result after later messages back to its call', () => {
  const log = [asks('a', '1'), says('v'), gives('1')];
  expect(ids(inRequestOrder(log))).toEqual(['a', 'r-1', 'v']);
});

test('a second result and one without a call stay in a history, but the model does not get them', () => {
  const log = [gives('x'), asks('a', '1', '2'), gives('2'), gives('1'), gives('1', 'again')];
  expect(ids(inRequestOrder(log))).toEqual(['r-x', 'a', 'r-1', 'r-2', 'again']);
  expect(ids(forModel(log))).toEqual(['a', 'r-1', 'r-2']);
});

test('a call with the id of an earlier call keeps its own result', () => {
  const log = [
    asks('a', '1', '2'),
    gives('2'),
    gives('1'),
    asks('b', '2', '1'),
    gives('1', 'r-3'),
    gives('2', 'r-4'),
  ];
  const ordered = ['a', 'r-1', 'r-2', 'b', 'r-4', 'r-3'];
  expect(ids(inRequestOrder(log))).toEqual(ordered);
  expect(ids(forModel(log))).toEqual(ordered);
});

test('a message with several results comes where its first call needs it', () => {
  const both = toolMessage(
    { type: 'tool_result', toolUseId: '3', name: 't', output: '', state: 'success' },
    { id: 'b' },
  );
  const log = [
    asks('a', '1', '2', '3'),
    { ...both, content: [...both.content, ...gives('2').content] },
    gives('1'),
  ];
  expect(ids(inRequestOrder(log))).toEqual(['a', 'r-1', 'b']);
});

test('a result in a user message appears once', () => {
  const brings = userMessage(
    [{ type: 'tool_result', toolUseId: '1', name: 't', output: '', state: 'success' }],
    { id: 'b' },
  );
  expect(ids(inRequestOrder([asks('a', '1'), brings, says('v')]))).toEqual(['a', 'b', 'v']);
});

test('returns an ordered log unchanged', () => {
  const log = [says('u'), asks('a', '1'), gives('1')];
  expect(inRequestOrder(log)).toBe(log);
});

test('open calls are those without a result anywhere', () => {
  const log = [asks('a', '1', '2'), gives('2'), says('u'), asks('b', '3')];
  expect(openCalls(log).map(({ id }) => id)).toEqual(['1', '3']);
});
