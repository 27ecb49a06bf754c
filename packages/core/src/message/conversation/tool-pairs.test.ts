import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { randomOf } from '@test/random-of.ts';
import { pairedForModel, inRequestOrder, openToolUses, orderFrom } from './tool-pairs.ts';
import { assistantMessage, toolMessage, userMessage, type Msg } from '../msg.ts';

const asks = (id: string, ...toolUseIds: string[]): Msg =>
  assistantMessage(
    toolUseIds.map((toolUseId) => ({ type: 'tool_use', id: toolUseId, name: 't', input: {} })),
    { id },
  );
const gives = (toolUseId: string, id = `r-${toolUseId}`): Msg =>
  toolMessage({ type: 'tool_result', toolUseId, name: 't', output: '', state: 'success' }, { id });
const says = (id: string): Msg => userMessage(id, { id });
const ids = (messages: readonly Msg[]): string[] => messages.map(({ id }) => id);

test('inRequestOrder() puts results after their tool calls, in the order of the tool calls', () => {
  const log = [says('u'), asks('a', '1', '2'), gives('2'), gives('1'), says('v')];
  expect(ids(inRequestOrder(log))).toEqual(['u', 'a', 'r-1', 'r-2', 'v']);
});

test('a result after later messages is moved back to its tool call', () => {
  const log = [asks('a', '1'), says('v'), gives('1')];
  expect(ids(inRequestOrder(log))).toEqual(['a', 'r-1', 'v']);
});

test('a second result and a result without a tool call stay in the history, but pairedForModel() omits both', () => {
  const log = [gives('x'), asks('a', '1', '2'), gives('2'), gives('1'), gives('1', 'again')];
  expect(ids(inRequestOrder(log))).toEqual(['r-x', 'a', 'r-1', 'r-2', 'again']);
  expect(ids(pairedForModel(log))).toEqual(['a', 'r-1', 'r-2']);
});

test('a tool call with the id of an earlier tool call keeps its own result', () => {
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
  expect(ids(pairedForModel(log))).toEqual(ordered);
});

test('a message with several results is placed after its first tool call', () => {
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

test('a user message with a result is included only once', () => {
  const brings = userMessage(
    [{ type: 'tool_result', toolUseId: '1', name: 't', output: '', state: 'success' }],
    { id: 'b' },
  );
  expect(ids(inRequestOrder([asks('a', '1'), brings, says('v')]))).toEqual(['a', 'b', 'v']);
});

test('inRequestOrder() returns an ordered log unchanged', () => {
  const log = [says('u'), asks('a', '1'), gives('1')];
  expect(inRequestOrder(log)).toBe(log);
});

test('openToolUses() returns the tool calls without a result', () => {
  const log = [asks('a', '1', '2'), gives('2'), says('u'), asks('b', '3')];
  expect(openToolUses(log).map(({ id }) => id)).toEqual(['1', '3']);
});

test.for(seeds({ quick: 50, full: 2_000 }))(
  'a conversation that grows has the same order if only its new messages are ordered (seed %i)',
  (seed) => {
    const random = randomOf(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    for (const order of [inRequestOrder, pairedForModel]) {
      const log: Msg[] = [];
      let grown: readonly Msg[] = [];
      let settled = 0;
      for (let step = 0; step < 30; step += 1) {
        const call = String(pick(6));
        const next = [
          () => says(`u${step}`),
          () => asks(`a${step}`, call, String(pick(6))),
          () => gives(call, `r${step}`),
        ][pick(3)]!();
        log.push(next);
        grown = [...grown, next];
        if (random() < 0.4) continue;
        grown = orderFrom(grown, settled, order);
        if (!openToolUses(grown.slice(settled)).length) settled = grown.length;
        expect(ids(openToolUses(grown.slice(settled)) as never)).toEqual(
          ids(openToolUses(log) as never),
        );
        if (order === inRequestOrder) expect(ids(grown)).toEqual(ids(order(log)));
        else expect(grown).toEqual(order(grown));
      }
    }
  },
);
